"""Forgetting a member in the browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from memory import erasure
from memory.models import ErasureRequest, Member, Message
from memory.types import Person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_erase_a_member_with_the_name_typed(page: Page, ada: Person) -> None:
    page.goto("/members/")
    page.get_by_role("link", name="Ada").click()
    page.get_by_role("link", name="Erase…").click()
    expect(page.get_by_role("row", name="Memories 4")).to_be_visible()
    page.get_by_label("Type ada to confirm").fill("adda")
    page.get_by_role("button", name="Erase Ada and 4 memories").click()
    expect(page.get_by_text("Nothing was erased")).to_be_visible()
    assert Member.objects.filter(withdrawn_at=None).exists()
    page.get_by_label("Type ada to confirm").fill("ada")
    page.get_by_role("button", name="Erase Ada and 4 memories").click()
    expect(page.get_by_text("nothing is left")).to_be_visible()
    assert not Message.objects.exists() and not Member.objects.exists()


def test_the_progress_polls_and_ends_with_the_receipt(page: Page, ada: Person) -> None:
    row = erasure.request(user_id=ada.id, origin="admin")
    page.goto(f"/erasures/{row.id}/")
    expect(page.get_by_text("0 of 4")).to_be_visible()
    erasure.run(row.id)
    expect(page.get_by_role("heading", name="Receipt")).to_be_visible()
    expect(page.get_by_text("nothing is left")).to_be_visible()
    assert ErasureRequest.objects.get().state == "done"
    assert page.locator("#progress").get_attribute("hx-trigger") is None


def test_the_list_of_erasures_is_narrowed_without_a_new_page(page: Page, ada: Person) -> None:
    erasure.receive(user_id=ada.id, origin="mail")
    erasure.run(erasure.request(user_id=770_000_000_000_000_000, origin="admin").id)
    page.goto("/erasures/")
    rows = page.locator("#results tbody tr")
    expect(rows).to_have_count(2)
    page.get_by_label("State").select_option("open")
    expect(rows).to_have_count(1)
    assert "state=open" in page.url
    page.get_by_label("Overdue").check()
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    page.get_by_role("link", name="Clear filters").click()
    expect(rows).to_have_count(2)
