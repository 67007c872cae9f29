"""The Playground in the browser: an answer that streams, and a sandbox that remembers."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from memory import chat
from memory.models import Message
from memory.types import Person, Recall, TurnDelta, TurnEvent, TurnRequest, TurnResult

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_question_is_answered_with_its_trace(page: Page, ada: Person) -> None:
    page.goto("/playground/")
    page.get_by_label("Question").fill("When does the ferry sail?")
    page.keyboard.press("Enter")
    answer = page.locator(".bubble-assistant")
    expect(answer).to_contain_text("sails at noon")
    expect(answer).to_contain_text("from memories")
    trace = page.locator("[data-trace]")
    expect(trace.get_by_role("heading", name="Recalled")).to_be_visible()
    expect(trace.locator(".recalled li").first).to_contain_text("ferry")
    trace.get_by_role("link", name="Open this trace").click()
    expect(page.get_by_role("heading", name="Why this answer?")).to_be_visible()


def test_pieces_show_as_they_come(page: Page, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def slowly(request: TurnRequest) -> Iterator[TurnEvent]:
        yield TurnDelta("The ferry ")
        assert go_on.wait(15)
        yield TurnDelta("sails at noon.")
        yield TurnResult(
            "The ferry sails at noon.", "", "model", str(uuid.uuid4()), Recall(), model="scripted"
        )

    monkeypatch.setattr(chat, "run_turn", slowly)
    page.goto("/playground/")
    page.get_by_label("Question").fill("When?")
    page.get_by_role("button", name="Ask", exact=True).click()
    answer = page.locator(".bubble-assistant .bubble-text")
    expect(answer).to_have_text("The ferry ")
    go_on.set()
    expect(answer).to_have_text("The ferry sails at noon.")
    expect(page.locator("[data-trace]")).to_contain_text("scripted")


def test_the_sandbox_remembers_and_is_erased(page: Page, owner: object) -> None:
    page.goto("/playground/")
    page.get_by_role("button", name="Start the sandbox").click()
    page.get_by_role("button", name="My bike is called Clementine").click()
    expect(page.locator(".bubble-assistant")).to_have_count(1)
    expect(page.locator("[data-trace] h2").first).to_have_text("Recalled")
    page.get_by_role("button", name="What is my bike called?").click()
    expect(page.locator(".bubble-assistant").nth(1)).to_contain_text("Clementine")
    assert Message.objects.filter(source="playground").count() == 2
    page.get_by_role("button", name="Erase the sandbox").click()
    expect(page.get_by_text("nothing is left")).to_be_visible()
    assert not Message.objects.exists()
