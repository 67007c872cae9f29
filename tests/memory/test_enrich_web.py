"""Pages that a message links are read once, for members who have opted in, and kept with the message."""

import pytest

from memory import capture, outbox
from memory.capture import enrich
from memory.capture.links import ENRICH
from memory.models import Member, Message, OutboxEntry
from memory.retrieval import recall
from memory.types import RecallQuery
from tests.factories import START, incoming, person
from tests.memory.enrich_support import LINK, open_web, site
from tests.memory.memory_support import erase, message, opted_in, say, work
from tests.memory.web_servers import response

__all__ = ["open_web", "site"]
pytestmark = pytest.mark.django_db(transaction=True)


def waiting() -> list[OutboxEntry]:
    return list(OutboxEntry.objects.filter(kind=ENRICH))


def web(key: int) -> list[dict]:
    return [one for one in message(key).content["attachments"] if one["type"] == "web"]


def test_a_linked_page_is_kept_with_its_message_in_the_record(site):
    key = say(opted_in(), f"read this: {LINK}")
    work(ENRICH)
    (page,) = web(key)
    assert set(page) == {"filename", "url", "type", "interpretation"}
    assert page["filename"] == "How tides work" and page["url"] == LINK
    assert page["interpretation"].startswith("How tides work\n\nTwice a day the sea rises")
    assert waiting() == []


def test_it_is_fetched_once(site):
    author = opted_in()
    said = incoming(f"read this: {LINK}", author=author)
    key = capture.record_message(said)
    work(ENRICH)
    assert capture.record_message(said, source="catch-up") == key
    assert capture.record_messages([said], source="backfill").duplicates == 1
    work(ENRICH)
    work("embed")
    assert site.paths == ["/tides"]
    assert enrich.interpretations(key)[0]["url"] == LINK


def test_nothing_is_fetched_for_those_who_have_not_opted_in(site):
    stranger = person("mallory")
    assert capture.record_message(incoming(LINK, author=stranger)) is None
    capture.record_messages([incoming(LINK, author=stranger)], source="backfill")
    assert waiting() == []
    work(ENRICH)
    assert site.paths == []


def test_nothing_is_fetched_for_somebody_who_withdrew(site):
    author = opted_in()
    say(author, LINK)
    Member.objects.update(withdrawn_at=START)
    work(ENRICH)
    assert site.paths == [] and waiting() == []


def test_work_of_an_earlier_epoch_is_dropped(site):
    say(opted_in(), LINK)
    Member.objects.update(epoch=7)
    work(ENRICH)
    assert site.paths == [] and waiting() == []


def test_the_work_of_somebody_who_pauses_waits(site):
    key = say(opted_in(), LINK)
    Member.objects.update(paused_at=START)
    work(ENRICH)
    assert site.paths == [] and len(waiting()) == 1
    Member.objects.update(paused_at=None)
    work(ENRICH)
    assert web(key)


def test_an_erasure_while_a_page_is_read_leaves_nothing(site):
    author = opted_in()
    say(author, LINK)

    def answer(head):
        erase(author)
        return response(b"<title>Late</title><p>too late</p>")

    site.answer = answer
    work(ENRICH)
    assert site.paths == ["/tides"]
    assert not Message.objects.exists() and waiting() == []


def test_a_deleted_message_takes_its_work_with_it(site):
    key = say(opted_in(), LINK)
    capture.forget_messages([message(key).discord_id])
    assert waiting() == []


def test_what_cannot_be_had_is_noted_and_holds_up_nothing(site):
    key = say(opted_in(), f"http://127.0.0.1/admin {LINK} http://nowhere.test/")
    work("embed")
    assert message(key).embedding == "done"
    work(ENRICH)
    assert {one["url"]: one.get("error") for one in web(key)} == {
        "http://127.0.0.1/admin": "address_not_allowed",
        LINK: None,
        "http://nowhere.test/": "not_found",
    }
    assert waiting() == []
    assert message(key).embedding == "done"


def test_another_try_only_where_it_may_help(site):
    site.answer = lambda head: response(b"", status="503 Busy" if b"/tides" in head else "404 Gone")
    key = say(opted_in(), f"{LINK} http://pages.test/gone")
    for _ in range(outbox.MAX_ATTEMPTS):
        assert len(waiting()) == 1
        work(ENRICH)
    assert waiting() == []
    assert site.paths.count("/tides") == outbox.MAX_ATTEMPTS and site.paths.count("/gone") == 1
    assert [one["error"] for one in web(key)] == ["http_status", "http_status"]


def test_an_edit_drops_the_page_of_a_link_that_is_gone_and_reads_the_new_one(site):
    key = say(opted_in(), LINK)
    work(ENRICH)
    capture.edit_message(discord_id=message(key).discord_id, text="http://pages.test/moon", edited_at=START)
    assert web(key) == []
    work(ENRICH)
    assert [one["url"] for one in web(key)] == ["http://pages.test/moon"]
    capture.edit_message(discord_id=message(key).discord_id, text="never mind", edited_at=START)
    assert web(key) == [] and waiting() == []


def test_a_page_whose_link_was_edited_away_while_it_was_read_is_not_kept(site):
    key = say(opted_in(), LINK)

    def answer(head):
        if b"/tides" in head:
            capture.edit_message(
                discord_id=message(key).discord_id, text="http://pages.test/moon", edited_at=START
            )
        return response(b"<title>T</title><p>some text that can be read</p>")

    site.answer = answer
    work(ENRICH)
    work(ENRICH)
    assert [one["url"] for one in web(key)] == ["http://pages.test/moon"]


def test_a_worker_that_died_repeats_only_what_it_had_not_written(site, monkeypatch):
    key = say(opted_in(), f"{LINK} http://pages.test/moon")
    read_page = enrich.read_page
    calls = []

    def dies(fetched):
        calls.append(fetched.url)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return read_page(fetched)

    monkeypatch.setattr(enrich, "read_page", dies)
    with pytest.raises(KeyboardInterrupt):
        work(ENRICH)
    OutboxEntry.objects.update(state="queued", lease="")
    work(ENRICH)
    assert site.paths == ["/tides", "/moon", "/moon"]
    assert len(web(key)) == 2


def test_links_of_the_bot_and_of_imports_are_not_followed(site):
    author = opted_in()
    bot = person("musebot", is_bot=True)
    capture.record_reply(incoming(f"see {LINK}", author=bot), owner_id=author.id)
    capture.record_message(incoming(LINK, author=author), source="import")
    capture.record_message(incoming(LINK, author=author), source="demo")
    assert waiting() == []


def test_mentions_of_strangers_do_not_come_back_through_a_page(site):
    site.answer = lambda head: response(b"ask <@123456789012345678>, he knows", content_type="text/plain")
    key = say(opted_in(), LINK)
    work(ENRICH)
    assert "123456789012345678" not in web(key)[0]["interpretation"]


@pytest.mark.parametrize("style", ["lines", "json"])
def test_the_page_is_given_to_the_model_when_its_message_is_recalled(site, settings, style):
    memory = settings.MUSEBOT.memory.model_copy(update={"inject_format": style, "token_budget": 1000})
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"memory": memory})
    long = b"<p>Twice a day the sea rises, because the moon pulls at the water.</p>" * 200
    site.answer = lambda head: response(b"<title>How tides work</title><article>" + long + b"</article>")
    key = say(opted_in(), f"about harbours: {LINK}")
    work(ENRICH)
    work("embed")
    guild_id = message(key).guild.discord_id
    (found,) = recall(RecallQuery(text="what was that about harbours?", guild_id=guild_id)).memories
    assert "How tides work" in found.line and "Twice a day the sea rises" in found.line
    assert len(found.line) < 1200
