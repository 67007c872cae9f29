"""The Playground: asking, streaming, the trace beside it, and the sandbox that remembers."""

from __future__ import annotations

import json

import pytest

from memory import capture, consent
from memory.models import Guild, Member, Message, Reply
from memory.types import ChannelInfo
from tests.factories import incoming, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def harbour():
    ada = person("ada")
    consent.give(person=ada, origin="discord")
    capture.record_message(incoming("The ferry sails at noon.", author=ada))
    row = Message.objects.get()
    return {"guild": row.guild.discord_id, "asker": ada.id, "channel": row.channel_id}


def lines(response) -> list[dict]:
    return [json.loads(line) for line in b"".join(response.streaming_content).decode().splitlines()]


def test_without_anything_it_offers_the_sandbox(staff):
    body = staff.get("/playground/").content.decode()
    assert "Start the sandbox" in body
    response = staff.post("/playground/stream/", {"question": "hello", "guild": "1"})
    assert response.status_code == 409 and "Start the sandbox" in response.json()["error"]
    assert not Message.objects.exists() and not Member.objects.exists()


def test_the_answer_streams_with_its_trace(staff, harbour):
    response = staff.post("/playground/stream/", {"question": "When does the ferry sail?", **harbour})
    assert response.streaming
    found = lines(response)
    result = found[-1]["result"]
    assert "".join(piece["delta"] for piece in found[:-1]) == result["text"]
    assert result["kind"] == "extractive" and "ferry sails at noon" in result["text"]
    assert "Recalled" in result["html"] and "fused" in result["html"]
    assert [entry["role"] for entry in json.loads(result["history"])] == ["user", "assistant"]
    assert Message.objects.count() == 1  # nothing of it is stored


def test_without_javascript_the_whole_page_answers(staff, harbour):
    response = staff.post("/playground/", {"question": "When does the ferry sail?", **harbour})
    body = response.content.decode()
    assert "ferry sails at noon" in body and "from memories" in body and "<html" in body
    reply = Reply.objects.get()
    assert f"/replies/{reply.id}/" in body
    trace = staff.get(f"/replies/{reply.id}/").content.decode()
    assert "ferry sails at noon" in trace and "Why this answer?" in trace
    assert b"Question not stored" in staff.get("/replies/").content


def test_a_suggestion_is_a_question(staff, harbour):
    response = staff.post(
        "/playground/", {"question": "", "suggestion": "When does the ferry sail?", **harbour}
    )
    assert b"ferry sails at noon" in response.content


@pytest.mark.parametrize("history", ["[1]", "{", '[{"role": "system", "name": "x", "text": "y"}]'])
def test_a_damaged_conversation_is_refused(staff, harbour, history):
    response = staff.post("/playground/stream/", {"question": "hi", "history": history, **harbour})
    assert response.status_code == 422 and "Start a new one" in response.json()["error"]


def test_an_empty_question_is_refused(staff, harbour):
    assert staff.post("/playground/", {"question": " ", **harbour}).status_code == 422


def test_the_sandbox_remembers_and_is_erased(staff, django_capture_on_commit_callbacks):
    staff.post("/playground/sandbox/", {"action": "start"})
    you = Member.objects.get()
    assert you.user_id == 1 and you.origin == "sandbox"
    lines(staff.post("/playground/stream/", {"question": "My bike is called Clementine.", "guild": "1"}))
    stored = Message.objects.get()
    assert stored.source == "playground" and stored.guild.kind == "sandbox"
    found = lines(staff.post("/playground/stream/", {"question": "What is my bike called?", "guild": "1"}))
    assert "Clementine" in found[-1]["result"]["text"]
    assert Reply.objects.exclude(question=None).count() == 2
    response = staff.post("/playground/sandbox/", {"action": "erase"})
    assert response["Location"].startswith("/erasures/")
    assert not Message.objects.exists()


def test_the_sandbox_never_shows_in_a_server(staff, harbour):
    staff.post("/playground/sandbox/", {"action": "start"})
    lines(staff.post("/playground/stream/", {"question": "My secret word is xylophone.", "guild": "1"}))
    found = lines(staff.post("/playground/stream/", {"question": "What is the secret word?", **harbour}))
    assert "xylophone" not in json.dumps(found)


def test_looking_at_the_playground_does_not_switch_the_server(staff, harbour):
    staff.post("/playground/sandbox/", {"action": "start"})
    staff.get("/playground/?guild=1")
    assert b"The ferry sails" in staff.get("/memories/").content


def test_two_settings_are_compared_side_by_side(staff):
    ada = person("ada")
    consent.give(person=ada, origin="discord")
    channel = ChannelInfo(7001, "kitchen")
    for number in range(4):
        capture.record_message(incoming(f"the soup number {number} needs salt", author=ada, channel=channel))
    guild = Guild.objects.get()
    page = "/playground/compare/"
    assert b"Compare two settings" in staff.get(f"/playground/?guild={guild.discord_id}").content
    assert staff.get(f"{page}?guild={guild.discord_id}").status_code == 200
    asked = {
        "guild": guild.discord_id,
        "question": "soup salt",
        "left-method": "words",
        "right-method": "words",
    }
    response = staff.post(page, {**asked, "left-top_k": "3", "right-top_k": "1"})
    left, right = response.context["sides"]
    assert (len(left.found.memories), len(right.found.memories)) == (3, 1)
    assert (left.alone, right.alone, response.context["shared"]) == (2, 0, 1)
    assert "1 memory is recalled by both" in response.content.decode()
    # Nobody knows who reads the channel, so only what was said in it is recalled there.
    response = staff.post(page, {**asked, "right-channel": "7001", "right-asker": ada.id})
    assert [len(side.found.memories) for side in response.context["sides"]] == [4, 4]
    assert response.context["sides"][1].setup.asker.user_id == ada.id
    assert not Reply.objects.exists()
    for wrong in ({"question": " "}, {"left-top_k": "0"}, {"right-top_k": "51"}, {"left-method": "magic"}):
        assert staff.post(page, {**asked, **wrong}).status_code == 422, wrong
