"""The trace of a reply, as a moderator reads it and acts on it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from memory import capture, chat
from memory.models import Message, Reply
from memory.types import ChannelInfo, GuildInfo, Person, TurnRequest
from tests.factories import START, incoming, person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

GUILD = GuildInfo(1_300_000_000_000_000_001, "Harbour")
GENERAL = ChannelInfo(1_300_000_000_000_000_002, "general")


@pytest.fixture
def reply(ada: Person) -> Reply:
    said = incoming("The pilot boat leaves at dawn.", author=ada, sent_at=START - timedelta(days=9))
    capture.record_message(said)
    Message.objects.update(sent_at=START - timedelta(days=9))
    question = incoming("When does the pilot boat leave?", author=ada)
    key = capture.record_message(question)
    request = TurnRequest(question.text, ada, GUILD, GENERAL, message_id=question.id)
    trace_id = chat.begin(request)
    assert trace_id is not None
    *_, result = chat.run_turn(request, trace_id=trace_id)
    answer = incoming(result.text, author=person("musebot", is_bot=True), reply_to=question.id)
    chat.finish(
        trace_id,
        question_key=key,
        answer_key=capture.record_reply(answer, owner_id=ada.id),
        state="done",
    )
    return Reply.objects.get(id=trace_id)


def test_what_misled_it_is_erased_in_two_clicks(page: Page, reply: Reply) -> None:
    page.goto(f"/replies/{reply.id}/")
    expect(page.get_by_role("heading", name="Why this answer?")).to_be_visible()
    entry = page.locator(".recalled > li", has_text="The pilot boat leaves at dawn.").first
    expect(entry).to_contain_text("shares words with the question")
    entry.get_by_text("Erase…").click()
    entry.get_by_role("button", name="Erase this memory").click()
    expect(page.get_by_text("Erased 1 memory.")).to_be_visible()
    expect(page).to_have_url("/replies/")
    assert not Message.objects.filter(text__contains="leaves at dawn").exists()


def test_it_is_held_back_and_one_stays_on_the_page(page: Page, reply: Reply) -> None:
    page.goto(f"/replies/{reply.id}/")
    page.get_by_role("button", name="Hold back").first.click()
    expect(page).to_have_url(f"/replies/{reply.id}/")
    expect(page.get_by_text("held back since").first).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_phone_without_scrolling_sideways(page: Page, reply: Reply, theme: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.goto(f"/replies/{reply.id}/")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
