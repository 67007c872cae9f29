"""The list of memories: filters, paging, search, the drawer, and what is done to them."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from memory import capture, consent, embedding, outbox, selectors
from memory.models import Message, OutboxEntry
from tests.factories import (
    START,
    ChannelFactory,
    GuildFactory,
    MemberFactory,
    MessageFactory,
    incoming,
    person,
)

pytestmark = pytest.mark.django_db
PART = {"HX-Request": "true", "HX-Target": "results"}


def keys(response) -> list[int]:
    return [int(key) for key in re.findall(r'name="key" value="(\d+)"', response.content.decode())]


def remembered(*texts: str) -> list[Message]:
    """Messages of one member, through capture, so that the indexes know them."""
    ada = person("ada")
    consent.give(person=ada, origin="discord")
    found = [capture.record_message(incoming(text, author=ada)) for text in texts]
    return [Message.objects.get(key=key) for key in found]


def test_without_any_there_is_a_next_step(staff):
    body = staff.get("/memories/").content.decode()
    assert "Nothing is remembered yet" in body and "/memory remember" in body


def test_without_a_match_the_filters_can_be_cleared(staff):
    MessageFactory()
    body = staff.get("/memories/?source=import").content.decode()
    assert "Nothing matches" in body and "Clear filters" in body


def test_htmx_gets_the_part_alone(staff):
    MessageFactory(text="ferry at noon")
    whole, part = staff.get("/memories/"), staff.get("/memories/", headers=PART)
    assert b"<html" in whole.content and b"ferry at noon" in whole.content
    assert b"<html" not in part.content and b"ferry at noon" in part.content
    assert "HX-Request" in whole["Vary"] and "HX-Request" in part["Vary"]
    back = staff.get("/memories/", headers={**PART, "HX-History-Restore-Request": "true"})
    assert b"<html" in back.content


def test_text_is_shown_as_text(staff):
    row = MessageFactory(text="<script>alert(1)</script>", author_name='"><img src=x>')
    for path in ("/memories/", f"/memories/{row.key}/"):
        body = staff.get(path).content.decode()
        assert "<script>alert" not in body and "<img" not in body
        assert "&lt;script&gt;" in body


def test_filters_narrow_what_is_shown(staff):
    guild, member = GuildFactory(), MemberFactory(username="mabel")
    channel = ChannelFactory(guild=guild)
    mine = MessageFactory(channel=channel, member=member, sent_at=START, source="import", embedding="failed")
    other = MessageFactory(sent_at=START + timedelta(days=3))
    assert set(keys(staff.get("/memories/"))) == {mine.key, other.key}
    for query in (
        f"guild={guild.discord_id}",
        f"guild=&channel={channel.discord_id}",
        "guild=&member=mabel",
        f"guild=&member={member.user_id}",
        "guild=&source=import",
        "guild=&embedding=failed",
        "guild=&since=2026-03-01&until=2026-03-01",
    ):
        assert keys(staff.get(f"/memories/?{query}")) == [mine.key], query
    body = staff.get("/memories/?guild=&source=import&embedding=failed").content.decode()
    assert "2 active" in body and "Clear filters" in body


def test_the_server_that_was_chosen_is_kept(staff):
    guild = GuildFactory(name="Harbour")
    MessageFactory(channel__guild=guild)
    MessageFactory()
    assert len(keys(staff.get(f"/memories/?guild={guild.discord_id}"))) == 1
    assert len(keys(staff.get("/memories/"))) == 1
    assert len(keys(staff.get("/memories/?guild="))) == 2


@pytest.mark.parametrize(
    "query",
    ["member=nobody", "since=yesterday", "channel=5", "source=x", "since=2026-03-02&until=2026-03-01"],
)
def test_a_filter_that_means_nothing_shows_nothing_and_says_so(staff, query):
    MessageFactory()
    response = staff.get(f"/memories/?{query}")
    assert response.status_code == 200 and not keys(response)
    assert b'class="error' in response.content


def test_pages_stay_stable_while_rows_come_and_go(staff, monkeypatch):
    monkeypatch.setattr("musebot_site.dashboard.views.memories.PAGE_SIZE", 4)
    channel = ChannelFactory()
    same_time = [MessageFactory(channel=channel, sent_at=START) for _ in range(6)]
    later = [MessageFactory(channel=channel, sent_at=START + timedelta(hours=n)) for n in range(1, 5)]
    expected = [row.key for row in reversed(later)] + sorted((row.key for row in same_time), reverse=True)
    seen, path = [], "/memories/"
    while path:
        response = staff.get(path)
        seen += keys(response)
        MessageFactory(
            channel=channel, sent_at=START + timedelta(days=len(seen))
        )  # at the front: seen by none
        following = re.search(r'href="([^"]+)" rel="next"', response.content.decode())
        path = following[1].replace("&amp;", "&") if following else ""
    assert seen == expected
    previous = re.search(r'href="([^"]+)" rel="prev"', response.content.decode())[1].replace("&amp;", "&")
    assert keys(staff.get(previous)) == expected[4:8]


def test_a_damaged_cursor_is_an_error_that_says_what_to_do(staff):
    MessageFactory()
    response = staff.get("/memories/?cursor=abc")
    assert response.status_code == 422 and b"first page" in response.content


def test_the_first_page_counts_nothing_over_messages(staff, django_assert_max_num_queries):
    MessageFactory()
    staff.get("/memories/")
    with django_assert_max_num_queries(17) as captured:
        staff.get("/memories/")
    counting = [q["sql"] for q in captured if "COUNT(" in q["sql"] and 'FROM "memory_message"' in q["sql"]]
    assert not counting


@pytest.mark.parametrize("mode", ["keyword", "semantic"])
def test_search_ranks_and_shows_scores(staff, mode):
    ferry, _ = remembered("The ferry sails at noon.", "Bread needs salt.")
    from memory import embedding, outbox

    embedding.embed_entries(outbox.claim("embed", 10))
    response = staff.get(f"/memories/?q=ferry&mode={mode}")
    assert keys(response)[0] == ferry.key
    assert b"Score" in response.content
    assert b"Nothing matches" in staff.get("/memories/?q=xylophone").content


def test_the_drawer_is_a_part_and_a_page_of_its_own(staff):
    row = MessageFactory(text="ferry at noon", captions="a boat")
    part = staff.get(
        f"/memories/{row.key}/?source=live", headers={"HX-Request": "true", "HX-Target": "drawer"}
    )
    assert b"<html" not in part.content and b"a boat" in part.content
    whole = staff.get(f"/memories/{row.key}/?source=live").content.decode()
    assert "<html" in whole and "a boat" in whole and "Source: live" in whole
    assert f"https://discord.com/channels/{row.guild.discord_id}/{row.channel_id}/{row.discord_id}" in whole


def test_erasing_the_selected_asks_first(staff):
    first, second = remembered("one", "two")
    response = staff.post("/memories/erase/", {"key": [first.key]})
    assert b"Erase 1 memory" in response.content and Message.objects.count() == 2
    response = staff.post(
        "/memories/erase/", {"key": [first.key], "confirmed": "1", "filters": "source=live"}
    )
    assert response["Location"] == "/memories/?source=live"
    assert list(Message.objects.values_list("key", flat=True)) == [second.key]
    assert b"Erased 1 memory" in staff.get("/memories/").content


def test_nothing_selected_erases_nothing(staff):
    remembered("one")
    staff.post("/memories/erase/", {"confirmed": "1"})
    assert Message.objects.count() == 1


def test_all_that_match_are_counted_on_request_and_erased_once_the_number_is_typed(staff):
    remembered("one", "two", "three")
    kept = MessageFactory(source="import")
    filters = {"filters": "guild=&source=live", "scope": "matching"}
    assert b"<strong>3</strong> that match" in staff.post("/memories/count/", filters).content
    response = staff.post("/memories/erase/", filters)
    assert b"Erase all 3 memories" in response.content
    assert b"Source: live" in response.content and b"All servers" in response.content
    counted_at = re.search(r'name="counted_at" value="([^"]+)"', response.content.decode())[1]
    late = MessageFactory()  # came after the count
    Message.objects.filter(key=late.key).update(stored_at=late.stored_at + timedelta(minutes=1))
    for typed in ("2", "", "all"):
        wrong = staff.post("/memories/erase/", {**filters, "counted_at": counted_at, "typed": typed})
        assert wrong.status_code == 422 and Message.objects.count() == 5
    staff.post("/memories/erase/", {**filters, "counted_at": counted_at, "typed": "3"})
    assert set(Message.objects.values_list("key", flat=True)) == {kept.key, late.key}


@pytest.mark.parametrize("filters", ["source=nonsense", "guild=12345", "member=nobody", "q=ferry"])
def test_filters_that_are_not_valid_never_mean_everything(staff, filters):
    remembered("one")
    response = staff.post("/memories/erase/", {"scope": "matching", "filters": filters, "typed": "1"})
    assert response.status_code == 422 and Message.objects.count() == 1


def test_holding_back_and_recalling_again(staff):
    row = MessageFactory()
    staff.post("/memories/pause/", {"key": row.key, "paused": "1"})
    assert selectors.memory(row.key).paused
    assert b"Held back" in staff.get(f"/memories/{row.key}/").content
    response = staff.post("/memories/pause/", {"key": row.key, "paused": "0", "drawer": row.key})
    assert response["Location"].startswith(f"/memories/{row.key}/")
    assert not selectors.memory(row.key).paused


def test_a_full_page_stays_small(staff):
    channel, member = ChannelFactory(), MemberFactory()
    MessageFactory.create_batch(60, channel=channel, member=member, text="word " * 60)
    assert len(staff.get("/memories/?since=2026-01-01&source=live").content) < 60_000


def test_memories_are_embedded_again_one_by_one_or_all_that_match(staff):
    rows = remembered("one thing", "another thing", "a third")
    embedding.embed_entries(outbox.claim("embed", limit=10))
    Message.objects.filter(key=rows[1].key).update(embedding="failed")
    Message.objects.filter(key=rows[2].key).update(embedding="none")
    body = staff.post("/memories/embed/", {"key": [rows[0].key, rows[2].key]}, follow=True).content.decode()
    assert "1 memory is embedded again" in body
    assert Message.objects.get(key=rows[0].key).embedding == "pending"
    assert list(OutboxEntry.objects.filter(kind="embed").values_list("subject", flat=True)) == [rows[0].key]
    staff.post("/memories/embed/", {"scope": "matching", "filters": "embedding=failed"})
    assert Message.objects.get(key=rows[1].key).embedding == "pending"
    assert (
        b"Nothing there has a vector"
        in staff.post("/memories/embed/", {"key": rows[2].key}, follow=True).content
    )
