"""What a page and its cursor become, in one transaction."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from memory import capture, outbox
from memory.capture import backfill
from memory.capture.backfill import ListedChannel
from memory.models import ChannelMark, Guild, Message, Scan, ScanChannel, ScanMember
from memory.types import ChannelInfo
from tests.factories import person
from tests.memory.backfill_support import GENERAL, GUILD, member, page, reading, said, work

pytestmark = pytest.mark.django_db


def texts() -> set[str]:
    return set(Message.objects.values_list("text", flat=True))


def test_the_cursor_moves_with_the_page():
    ada = member()
    scan = reading(ada)
    older, newer = said(ada, "one", "two"), said(ada, "three", "four")
    following = backfill.commit_page(work(), page(newer, last=False))
    assert following is not None and following.cursor == newer[0].id
    assert work().cursor == newer[0].id
    assert backfill.commit_page(following, page(older, cursor=newer[0].id)) is None
    assert texts() == {"one", "two", "three", "four"}
    scan.refresh_from_db()
    assert (scan.state, scan.pages, scan.scanned, scan.stored) == ("done", 2, 4, 4)
    assert ScanMember.objects.get().stored == 4
    assert ChannelMark.objects.get().seen_id == newer[-1].id


def test_a_page_for_a_cursor_that_has_moved_is_dropped():
    """Two workers read the same page; the slower one must not move the cursor back or count twice."""
    ada = member()
    scan = reading(ada)
    messages = said(ada, "one")
    first = work()
    backfill.commit_page(first, page(messages, last=False))
    assert backfill.commit_page(first, page(messages, last=False)) is None
    scan.refresh_from_db()
    assert (scan.pages, scan.scanned) == (1, 1)


def test_a_page_is_stored_whole_or_not_at_all(monkeypatch):
    ada = member()
    reading(ada)
    monkeypatch.setattr("memory.capture.backfill.pages._count", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        backfill.commit_page(work(), page(said(ada, "one")))
    assert texts() == set() and work().cursor is None


def test_messages_that_are_stored_already_are_not_doubled_and_their_edits_taken_over():
    ada = member()
    scan = reading(ada)
    [live] = said(ada, "as it was")
    capture.record_message(live)
    edited = replace(live, text="as it is", edited_at=live.sent_at + timedelta(minutes=1))
    backfill.commit_page(work(), page([edited]))
    assert texts() == {"as it is"}
    scan.refresh_from_db()
    assert (scan.stored, scan.skipped) == (0, {"already_stored": 1})


def test_the_bots_error_message_is_no_memory(settings):
    ada, bot = member(), person("musebot", is_bot=True)
    scan = reading(ada)
    answer, sorry = said(bot, "The ferry sails at noon.", settings.MUSEBOT.chat.error_message)
    owners = {answer.id: ada.id, sorry.id: ada.id}
    backfill.commit_page(work(), page([answer, sorry], owners=owners))
    assert texts() == {"The ferry sails at noon."}
    scan.refresh_from_db()
    assert scan.skipped == {"error_message": 1}


def test_what_was_deleted_while_its_page_was_on_its_way_stays_deleted():
    ada = member()
    scan = reading(ada)
    kept, deleted = said(ada, "kept", "deleted")
    fetched = page([kept, deleted])
    capture.forget_messages([deleted.id])
    from memory.capture import underway

    underway._deleted.clear()  # as if another process had heard of it
    backfill.commit_page(work(), fetched)
    assert texts() == {"kept"}
    scan.refresh_from_db()
    assert scan.skipped == {"deleted": 1}


def test_what_was_edited_while_its_page_was_on_its_way_is_read_again():
    ada = member()
    reading(ada)
    [message] = said(ada, "old words")
    fetched = page([message])
    capture.edit_message(discord_id=message.id, text="new words", edited_at=timezone.now())
    again = backfill.commit_page(work(), fetched)
    assert again is not None and again.cursor is None and texts() == set()
    backfill.commit_page(again, page([replace(message, text="new words")]))
    assert texts() == {"new words"}


def test_a_channel_that_was_deleted_meanwhile_stores_nothing():
    ada = member()
    reading(ada)
    underway = work()
    capture.forget_channel(GENERAL.id)
    backfill.commit_page(underway, page(said(ada, "one")))
    assert texts() == set()


def test_reading_ends_where_the_server_keeps_nothing_older():
    ada = member()
    scan = reading(ada)
    Guild.objects.update(max_age_days=10)
    old, new = said(ada, "old", "new")
    now = timezone.now()
    old = replace(old, id=backfill.id_at(now - timedelta(days=11)), sent_at=now - timedelta(days=11))
    new = replace(new, id=backfill.id_at(now - timedelta(days=9)), sent_at=now - timedelta(days=9))
    assert backfill.commit_page(work(), page([old, new], last=False)) is None
    assert texts() == {"new"}
    scan.refresh_from_db()
    assert (scan.state, scan.skipped) == ("done", {"too_old": 1})


def test_a_page_that_could_not_be_fetched_waits_longer_each_time():
    reading(member())
    waits = []
    for _ in range(3):
        one = work()
        backfill.postpone(one, code="discord_unavailable")
        row = ScanChannel.objects.get()
        waits.append(round((row.due_at - timezone.now()).total_seconds()))
        ScanChannel.objects.update(due_at=timezone.now())
    assert waits == [1, 2, 5]
    assert Scan.objects.get().state == "running" and ScanChannel.objects.get().state == "waiting"


def test_channels_where_nothing_may_be_stored_are_not_read():
    Guild.objects.create(discord_id=GUILD.id)
    scan = reading(
        member(), channels=[ListedChannel(GENERAL), ListedChannel(ChannelInfo(8, "forum", kind="forum"))]
    )
    assert [row.name for row in backfill.channels(scan.pk)] == ["general"]
    backfill.cancel(scan.pk)
    Guild.objects.update(capture_enabled=False)
    scan = reading(member("ben"))
    assert {row.error_code for row in backfill.channels(scan.pk)} == {"capture_disabled"}
    assert scan.state == "done"


def test_how_far_it_has_got():
    ada, zoe = member(), person("zoe")
    other = ListedChannel(ChannelInfo(id=GENERAL.id + 1, name="other"))
    scan = reading(
        ada, channels=[ListedChannel(GENERAL), other, ListedChannel(ChannelInfo(9, "hidden"), "no_view")]
    )
    backfill.commit_page(work(), page(said(ada, "one"), skipped={"no_consent": 3}))
    assert zoe
    [seen] = backfill.progress(scan_id=scan.pk)
    assert (seen.state, seen.stage) == ("running", "reading channel 2 of 2")
    assert (seen.channels_done, seen.channels, seen.unreadable, seen.members) == (1, 2, 1, 1)
    assert (seen.scanned, seen.stored, seen.skipped) == (1, 1, {"no_consent": 3})
    assert seen.share == 0.5 and seen.seconds_left is not None
    [mine] = backfill.member_progress(ada.id)
    assert (mine.stored, mine.told) == (1, False)
    assert backfill.untold() == {}
    backfill.commit_page(work(), page([]))
    assert list(backfill.untold()) == [ada.id]
    backfill.told(ada.id)
    assert backfill.untold() == {}


def test_what_is_said_now_does_not_wait_behind_a_history():
    ada = member()
    reading(ada)
    backfill.commit_page(work(), page(said(ada, "long ago", "also long ago")))
    [now] = said(ada, "just now")
    key = capture.record_message(now)
    assert [entry.subject for entry in outbox.claim("embed", 1)] == [key]
