"""What is kept after somebody has left, and for how long at all."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory import capture, retention, tasks
from memory.errors import InvalidInput, NotFound
from memory.models import ErasureRequest, Guild, GuildMember, InstallationState, Member, Message, OutboxEntry
from memory.types import ChannelInfo, GuildInfo
from tests.memory.memory_support import found_by_words, opted_in, say, work

pytestmark = pytest.mark.django_db

HARBOUR = GuildInfo(id=1, name="Harbour")
ISLAND = GuildInfo(id=2, name="Island")


def there(guild: GuildInfo) -> dict[str, object]:
    return {"guild": guild, "channel": ChannelInfo(id=guild.id * 100, name="general")}


def days_ago(days: float) -> object:
    return timezone.now() - timedelta(days=days)


def test_a_server_that_the_bot_left_is_kept_for_thirty_days():
    ada = opted_in()
    say(ada, "barnacles", **there(HARBOUR))
    say(ada, "elsewhere", **there(ISLAND))
    assert capture.leave_guild(HARBOUR.id)
    assert not capture.leave_guild(HARBOUR.id)
    assert retention.purge() and Message.objects.count() == 2
    Guild.objects.filter(discord_id=HARBOUR.id).update(left_at=days_ago(29.9))
    assert retention.purge() and Message.objects.count() == 2
    Guild.objects.filter(discord_id=HARBOUR.id).update(left_at=days_ago(30.1))
    assert retention.purge()
    assert list(Message.objects.values_list("text", flat=True)) == ["elsewhere"]
    assert found_by_words("barnacles") == []
    assert list(GuildMember.objects.values_list("guild__name", flat=True)) == ["Island"]
    assert Member.objects.filter(withdrawn_at=None).exists()


def test_coming_back_in_time_keeps_everything():
    ada = opted_in()
    say(ada, "barnacles", **there(HARBOUR))
    capture.leave_guild(HARBOUR.id)
    Guild.objects.update(left_at=days_ago(20))
    capture.remember_guild(HARBOUR)
    retention.purge()
    assert Message.objects.count() == 1 and Guild.objects.get().left_at is None


def test_a_server_of_its_own_time():
    ada = opted_in()
    for place in (HARBOUR, ISLAND):
        say(ada, place.name, **there(place))
        capture.leave_guild(place.id)
    Guild.objects.update(left_at=days_ago(3))
    retention.change(HARBOUR.id, keep_after_leaving_days=2, max_age_days=None)
    retention.purge()
    assert list(Message.objects.values_list("text", flat=True)) == ["Island"]


def test_a_member_who_left_a_server():
    ada, ben = opted_in("ada"), opted_in("ben")
    for someone in (ada, ben):
        for place in (HARBOUR, ISLAND):
            say(someone, f"{someone.username} {place.name}", **there(place))
    assert retention.note_left(HARBOUR.id, [ada.id]) == 1
    retention.purge()
    assert Message.objects.count() == 4
    GuildMember.objects.exclude(left_at=None).update(left_at=days_ago(31))
    retention.purge()
    assert set(Message.objects.values_list("text", flat=True)) == {"ada Island", "ben Harbour", "ben Island"}
    assert retention.members_of(HARBOUR.id) == {ben.id: False}
    assert not ErasureRequest.objects.exists()


def test_a_member_who_left_and_came_back():
    ada = opted_in()
    say(ada, "barnacles", **there(HARBOUR))
    retention.note_left(HARBOUR.id, [ada.id])
    GuildMember.objects.update(left_at=days_ago(40))
    assert retention.note_back(HARBOUR.id, [ada.id]) == 1
    retention.purge()
    assert Message.objects.count() == 1


def test_who_shares_no_server_any_more_is_erased():
    ada, ben = opted_in("ada"), opted_in("ben")
    say(ada, "in the harbour", **there(HARBOUR))
    say(ben, "in the harbour", **there(HARBOUR))
    dm = GuildInfo(id=99, kind="dm")
    say(ada, "in private", guild=dm, channel=ChannelInfo(id=99, kind="dm"))
    retention.note_left(HARBOUR.id, [ada.id])
    GuildMember.objects.exclude(left_at=None).update(left_at=days_ago(31))
    retention.purge()
    [request] = ErasureRequest.objects.all()
    assert request.origin == "retention"
    work("erase")
    assert not Member.objects.filter(user_id=ada.id).exists()
    assert list(Message.objects.values_list("member_id", flat=True)) == [ben.id]


def test_members_of_a_server_that_the_bot_left_go_with_it_if_it_was_their_only_one():
    ada, ben = opted_in("ada"), opted_in("ben")
    say(ada, "only here", **there(HARBOUR))
    say(ben, "here", **there(HARBOUR))
    say(ben, "and there", **there(ISLAND))
    capture.leave_guild(HARBOUR.id)
    Guild.objects.filter(discord_id=HARBOUR.id).update(left_at=days_ago(31))
    retention.purge()
    work("erase")
    assert list(Member.objects.values_list("user_id", flat=True)) == [ben.id]
    assert list(Message.objects.values_list("text", flat=True)) == ["and there"]


def test_an_age_limit():
    ada = opted_in()
    for days in (1, 9, 11, 400):
        say(ada, f"{days} days", sent_at=days_ago(days), **there(HARBOUR))
        say(ada, f"{days} days", sent_at=days_ago(days), **there(ISLAND))
    retention.change(HARBOUR.id, keep_after_leaving_days=30, max_age_days=10)
    assert retention.purge()
    left = Message.objects.values_list("guild__name", "text")
    assert {text for place, text in left if place == "Harbour"} == {"1 days", "9 days"}
    assert {text for place, text in left if place == "Island"} == {"1 days", "9 days", "11 days", "400 days"}
    assert Guild.objects.get(discord_id=HARBOUR.id).message_count == 2


@pytest.mark.parametrize(("keep", "age"), [(-1, None), (30, 0), (10**9, None), (30, 10**9)])
def test_settings_that_make_no_sense(keep, age):
    capture.remember_guild(HARBOUR)
    with pytest.raises(InvalidInput):
        retention.change(HARBOUR.id, keep_after_leaving_days=keep, max_age_days=age)


def test_a_server_that_is_not_known():
    with pytest.raises(NotFound):
        retention.change(77, keep_after_leaving_days=1, max_age_days=None)


def test_the_sweep_purges_once_a_day():
    tasks.sweep()
    assert OutboxEntry.objects.filter(kind="retention").count() == 1
    tasks.work_through("retention")
    tasks.sweep()
    assert not OutboxEntry.objects.filter(kind="retention").exists()
    InstallationState.objects.filter(name="retention").update(at=days_ago(1.1))
    tasks.sweep()
    assert OutboxEntry.objects.filter(kind="retention").exists()


def test_what_the_dashboard_shows():
    ada = opted_in()
    say(ada, "barnacles", **there(HARBOUR))
    capture.remember_guild(ISLAND)
    capture.leave_guild(HARBOUR.id)
    retention.note_left(HARBOUR.id, [ada.id])
    first, second = retention.overview()
    assert (first.guild, first.messages, first.leaving_members, second.guild) == ("Harbour", 1, 1, "Island")
    assert first.purged_at is not None and first.left_at is not None
    assert first.purged_at - first.left_at == timedelta(days=30)
    assert second.purged_at is None
