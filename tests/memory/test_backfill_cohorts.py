"""Who shares a scan, and what becomes of one that is paused, cancelled, or asked for again."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory import consent, erasure
from memory.capture import backfill
from memory.errors import Conflict, NotFound
from memory.models import OutboxEntry, Scan, ScanMember
from memory.types import GuildInfo
from tests.factories import person
from tests.memory.backfill_support import GUILD, close_cohort, member, page, reading, said, waiting, work

pytestmark = pytest.mark.django_db


def test_members_who_opt_in_within_a_minute_share_a_scan():
    ada, ben, cay = member("ada"), member("ben"), member("cay")
    first = waiting(ada, ben)
    assert first.state == "gathering" and ScanMember.objects.filter(scan=first).count() == 2
    assert first.begins_at - first.opened_at >= timedelta(seconds=59)
    close_cohort()
    assert waiting(cay).pk != first.pk


def test_nobody_waits_twice_on_one_server():
    ada = member()
    assert waiting(ada).pk == waiting(ada).pk
    close_cohort()
    assert waiting(ada).pk == Scan.objects.get().pk


def test_who_has_not_opted_in_starts_nothing():
    assert backfill.request(user_id=person("zoe").id, guilds=[GUILD]) == []
    assert not Scan.objects.exists() and not OutboxEntry.objects.exists()


def test_each_server_has_a_scan_of_its_own():
    other = GuildInfo(id=5, name="Island")
    scans = backfill.request(user_id=member().id, guilds=[GUILD, other])
    assert [scan.guild.discord_id for scan in scans] == [GUILD.id, other.id]


def test_scans_of_a_server_follow_each_other_and_gather_until_then():
    ada, ben, cay = member("ada"), member("ben"), member("cay")
    first = reading(ada)
    second = waiting(ben)
    close_cohort()
    second.refresh_from_db()
    assert second.state == "gathering"
    assert waiting(cay).pk == second.pk
    backfill.cancel(first.pk)
    close_cohort()
    second.refresh_from_db()
    assert second.state == "listing"


def test_a_history_that_was_read_is_read_again_only_after_a_day():
    ada = member()
    scan = reading(ada)
    assert backfill.commit_page(work(), page([])) is None
    scan.refresh_from_db()
    assert scan.state == "done"
    assert backfill.request(user_id=ada.id, guilds=[GUILD]) == []
    Scan.objects.update(finished_at=timezone.now() - timedelta(days=2))
    assert waiting(ada).pk != scan.pk


def test_a_cancelled_history_can_be_asked_for_at_once():
    ada = member()
    scan = reading(ada)
    backfill.cancel(scan.pk)
    assert backfill.open_work(limit=5) == []
    assert waiting(ada).pk != scan.pk


def test_pausing_holds_a_page_that_is_on_its_way():
    ada = member()
    scan = reading(ada)
    underway, messages = work(), said(ada, "one")
    assert backfill.pause(scan.pk).state == "paused"
    assert backfill.commit_page(underway, page(messages)) is None
    assert backfill.open_work(limit=5) == []
    assert backfill.resume(scan.pk).state == "running"
    backfill.commit_page(work(), page(messages))
    scan.refresh_from_db()
    assert (scan.state, scan.stored) == ("done", 1)


def test_remembering_again_goes_on_with_a_paused_scan():
    ada = member()
    scan = reading(ada)
    backfill.pause(scan.pk)
    assert waiting(ada).pk == scan.pk
    scan.refresh_from_db()
    assert scan.state == "running"


def test_what_has_ended_cannot_be_paused():
    scan = reading(member())
    backfill.cancel(scan.pk)
    for change in (backfill.pause, backfill.resume, backfill.cancel):
        with pytest.raises(Conflict):
            change(scan.pk)
        with pytest.raises(NotFound):
            change(scan.pk + 1)


def test_an_erasure_ends_waiting_and_nothing_is_stored_after():
    ada, ben = member("ada"), member("ben")
    scan = reading(ada, ben)
    underway = work()
    messages = said(ada, "of ada") + said(ben, "of ben")
    erasure.run(erasure.request(user_id=ada.id, origin="member").id)
    backfill.commit_page(underway, page(messages))
    scan.refresh_from_db()
    assert scan.stored == 1 and scan.skipped == {"no_consent": 1}
    assert list(ScanMember.objects.values_list("member_id", flat=True)) == [ben.id]
    assert "memory_scanmember" not in erasure.verify(ada.id)


def test_a_scan_that_nobody_waits_for_any_more_ends():
    ada = member()
    scan = reading(ada)
    consent.withdraw(user_id=ada.id, origin="member")
    assert backfill.wanted_people(work()) == {}
    scan.refresh_from_db()
    assert (scan.state, scan.error_code) == ("cancelled", "nobody_waits")


def test_the_work_in_the_outbox_goes_with_the_last_scan():
    scan = reading(member())
    entry = OutboxEntry.objects.get(kind=backfill.HISTORY)
    OutboxEntry.objects.update(state="running", lease="me")
    entry.refresh_from_db()
    backfill.nudge()  # somebody opts in meanwhile: whoever reads keeps the lease
    assert backfill.extend(entry)
    backfill.rest(entry)
    assert OutboxEntry.objects.get().state == "queued"
    OutboxEntry.objects.update(state="running", lease="me")
    backfill.cancel(scan.pk)
    backfill.rest(entry)
    assert not OutboxEntry.objects.exists()
