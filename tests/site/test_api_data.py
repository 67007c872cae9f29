"""What the routes give, with real messages, recall and erasure behind them."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.test import Client

from memory import access, capture, consent
from memory.management import inline
from memory.models import ErasureRequest, Member, Message
from tests.factories import START, incoming, person, snowflake

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = [
    "I keep bees behind the old mill",
    "My sister plays the cello",
    "The ferry sails at noon",
    "Soup is on Friday",
]


@pytest.fixture
def client():
    return Client(headers={"Authorization": f"Bearer {access.make_key(name='test')[1]}"})


@pytest.fixture
def ada():
    """A member with four messages, embedded."""
    ada = person("ada")
    messages = [
        incoming(text, author=ada, sent_at=START + timedelta(hours=number))
        for number, text in enumerate(TEXTS)
    ]
    capture.remember_guild(messages[0].guild, [messages[0].channel])
    consent.give(person=ada, origin="discord", guild=messages[0].guild)
    capture.record_messages(messages, source="live")
    inline.embed_waiting()
    return ada


GUILD, CHANNEL = "1300000000000000001", "1300000000000000002"


def post(client, path, **body):
    response = client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")
    return response.status_code, response.json()


def get(client, path, **query):
    response = client.get(f"/api/v1/{path}", query)
    assert response.status_code == 200, response.content
    return response.json()


def test_recall_ranks_memories(client, ada):
    status, body = post(
        client, "recall", query="who plays the cello?", guild_id=GUILD, user_id=str(ada.id), top_k=3
    )
    assert status == 200
    best = body["results"][0]
    assert best["text"] == TEXTS[1] and best["author"] == "Ada"
    assert best["channel_id"] == CHANNEL and best["user_id"] == str(ada.id)
    assert best["discord_id"] == str(Message.objects.get(key=best["id"]).discord_id)
    assert isinstance(best["id"], str) and best["scores"] and best["sent_at"].startswith("2026-03-01")
    assert len(body["results"]) <= 3


def test_recall_of_a_channel_in_another_server_is_refused(client, ada):
    other = incoming(guild=type(incoming().guild)(id=5, name="Elsewhere"))
    capture.remember_guild(other.guild)
    assert post(client, "recall", query="x", guild_id="5", channel_id=CHANNEL)[0] == 422


def test_ask_answers_with_its_trace_and_remembers_nothing_of_it(client, ada):
    before = Message.objects.count()
    status, body = post(client, "ask", question="who plays the cello?", guild_id=GUILD, user_id=str(ada.id))
    assert status == 200
    assert body["kind"] == "extractive" and TEXTS[1] in body["text"]
    assert body["citations"] == body["facts"] == []
    assert body["memories"][0]["text"] == TEXTS[1]
    assert Message.objects.count() == before
    trace = get(client, f"replies/{body['trace_id']}")
    assert trace["trace_id"] == body["trace_id"] and trace["origin"] == "api"
    assert trace["memories"][0]["text"] == TEXTS[1]


def test_ask_without_a_server_uses_no_memory(client, ada):
    status, body = post(client, "ask", question="who plays the cello?")
    assert status == 200 and body["memories"] == []


def test_memories_come_in_pages_newest_first(client, ada):
    seen, cursor = [], ""
    while cursor is not None:
        page = get(client, "memories", guild_id=GUILD, limit=3, cursor=cursor)
        seen += [row["text"] for row in page["results"]]
        cursor = page["next_cursor"]
    assert seen == TEXTS[::-1]
    row = get(client, "memories", user_id=str(ada.id), limit=1)["results"][0]
    assert row["guild_id"] == GUILD and row["embedding"] == "done" and row["source"] == "live"
    assert get(client, "memories", user_id="5")["results"] == []
    assert (
        get(client, "memories", since=(START + timedelta(hours=3)).isoformat())["results"][0]["text"]
        == TEXTS[3]
    )


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
def test_memories_are_searched(client, ada, mode):
    found = get(client, "memories", q="cello", mode=mode, guild_id=GUILD)
    assert found["results"][0]["text"] == TEXTS[1]
    assert found["results"][0]["score"] is not None
    assert get(client, "memories", q="cello", mode=mode, user_id="5")["results"] == []


def test_one_memory_is_erased(client, ada):
    key = Message.objects.get(text=TEXTS[1]).key
    response = client.delete(f"/api/v1/memories/{key}")
    assert (response.status_code, response.json()) == (200, {"removed": 1})
    assert client.delete(f"/api/v1/memories/{key}").status_code == 404
    _, found = post(client, "recall", query="who plays the cello?", guild_id=GUILD)
    assert TEXTS[1] not in [row["text"] for row in found["results"] + found["left_out"]]


def test_a_member_and_their_export(client, ada):
    member = get(client, f"members/{ada.id}")
    assert member["user_id"] == str(ada.id) and member["consented_at"]
    assert member["counts"]["memories"] == 4 and member["counts"]["facts"] == 0
    response = client.get(f"/api/v1/members/{ada.id}/export")
    data = json.loads(b"".join(response.streaming_content))
    assert [row["text"] for row in data["memories"]] == TEXTS
    assert response["Cache-Control"] == "no-store"


def test_a_member_is_erased_with_a_receipt(client, ada):
    status, body = post(client, "erasures", user_id=str(ada.id))
    assert status == 201 and body["state"] == "done" and body["remains"] == {}
    assert str(ada.id) not in json.dumps(body) and "bees" not in json.dumps(body)
    assert get(client, f"erasures/{body['id']}")["receipt"] == body["receipt"] is not None
    assert not Message.objects.exists() and not Member.objects.exists()
    assert client.get(f"/api/v1/members/{ada.id}").status_code == 404


def test_an_erasure_that_takes_longer_is_told_as_it_goes_on(client, ada, monkeypatch):
    monkeypatch.setattr("musebot_site.api.erasures.SECONDS_HERE", 0.0)
    status, body = post(client, "erasures", user_id=str(ada.id))
    assert status == 202 and body["state"] == "running" and body["receipt"] is None
    assert get(client, f"members/{ada.id}")["erasing"] is True
    row = ErasureRequest.objects.get()
    assert get(client, f"erasures/{row.id}")["total"] == 4


def test_work_that_waits_is_listed_in_pages(client, ada):
    capture.record_messages(
        [incoming(f"new {number}", author=ada, id=snowflake()) for number in range(5)], source="live"
    )
    first = get(client, "jobs", limit=3)
    rest = get(client, "jobs", limit=3, cursor=first["next_cursor"])
    assert len(first["results"]) == 3 and len(rest["results"]) == 2 and rest["next_cursor"] is None
    assert first["summary"][0]["kind"] == "embed" and first["summary"][0]["count"] == 5
    assert get(client, "jobs", state="failed")["results"] == []


def test_while_memory_is_off_recall_says_so(client, settings):
    off = settings.MUSEBOT.memory.model_copy(update={"embedding_model": None})
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"memory": off})
    status, body = post(client, "recall", query="x", guild_id=GUILD)
    assert (status, body["error"]) == (409, "memory_disabled")


def test_a_model_that_fails_is_a_503(client, ada, monkeypatch):
    from memory import backends, errors

    class Down:
        name = "down"
        context_window = 8192

        def stream(self, request):
            raise errors.ModelUnavailable("nobody answers")
            yield

        def count_tokens(self, text):
            return len(text)

    monkeypatch.setattr(backends, "chat_model", Down)
    status, body = post(client, "ask", question="who plays the cello?", guild_id=GUILD)
    assert (status, body["error"]) == (503, "model_unavailable")
    assert body["details"]["trace_id"]
