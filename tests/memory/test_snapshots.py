"""Who may read what: what a channel's readers may all see is recalled there, and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memory import snapshots
from memory.models import Audience, Channel, Guild
from memory.types import ChannelInfo, GuildInfo

pytestmark = pytest.mark.django_db

GUILD = GuildInfo(id=100, name="Harbour")
OPEN, STAFF, MODS, UNKNOWN = (ChannelInfo(id=n, name=f"c{n}") for n in (1, 2, 3, 4))
THREAD = ChannelInfo(id=5, name="thread", kind="public_thread", parent=STAFF)
SECRET = ChannelInfo(id=6, name="secret", kind="private_thread", parent=STAFF)
CHANNELS = [OPEN, STAFF, MODS, UNKNOWN, THREAD, SECRET]
EVERYBODY, TEAM, MODERATORS = range(1, 200), range(1, 20), {1, 2, 3}


@pytest.fixture
def guild() -> Guild:
    snapshots.record(guild=GUILD, readers={1: EVERYBODY, 2: TEAM, 3: MODERATORS, 4: None}, channels=CHANNELS)
    return Guild.objects.get(discord_id=100)


def visible(guild: Guild, channel: int | None, asker: int | None = None) -> frozenset[int] | None:
    guild.refresh_from_db()
    return snapshots.visible_channels(guild=guild, channel_id=channel, asker_id=asker).ids


def test_a_channel_gets_what_all_of_its_readers_may_read(guild: Guild) -> None:
    assert visible(guild, 1) == {1}
    assert visible(guild, 2) == {1, 2, 5}
    assert visible(guild, 3) == {1, 2, 3, 5}


def test_a_public_thread_has_its_parents_readers_and_a_private_one_has_not(guild: Guild) -> None:
    assert visible(guild, 5) == {1, 2, 5}
    assert visible(guild, 6) == {6}


def test_a_private_thread_with_known_readers(guild: Guild) -> None:
    snapshots.record(guild=GUILD, readers={1: EVERYBODY, 2: TEAM, 6: {1, 2}}, channels=CHANNELS)
    assert visible(guild, 6) == {1, 2, 5, 6}
    assert 6 not in (visible(guild, 2) or ())


def test_where_the_readers_are_unknown_only_the_same_channel_is_used(guild: Guild) -> None:
    found = snapshots.visible_channels(guild=guild, channel_id=4, asker_id=1)
    assert (found.ids, found.degraded) == ({4}, "same_channel_only")
    assert snapshots.visible_channels(guild=guild, channel_id=999, asker_id=1).ids == {999}
    assert all(4 not in (visible(guild, n) or ()) for n in (1, 2, 3))


def test_an_old_snapshot_counts_for_nothing_until_it_is_confirmed(guild: Guild) -> None:
    Guild.objects.update(snapshot_at=timezone.now() - timedelta(days=1, minutes=1))
    guild.refresh_from_db()
    assert snapshots.visible_channels(guild=guild, channel_id=3, asker_id=1) == snapshots.VisibleChannels(
        frozenset({3}), "same_channel_only"
    )
    snapshots.touch(100)
    assert visible(guild, 3) == {1, 2, 3, 5}


def test_touching_does_not_make_a_snapshot() -> None:
    guild = Guild.objects.create(discord_id=100)
    snapshots.touch(100)
    guild.refresh_from_db()
    assert guild.snapshot_at is None
    assert visible(guild, 1) == {1}


def test_policy_member_gives_what_the_one_who_asks_may_read(guild: Guild) -> None:
    Guild.objects.update(recall_policy=Guild.RecallPolicy.MEMBER)
    assert visible(guild, 1, asker=2) == {1, 2, 3, 5}
    assert visible(guild, 1, asker=10) == {1, 2, 5}
    assert visible(guild, 1, asker=150) == {1}
    assert visible(guild, 1, asker=5000) == {1}
    assert visible(guild, 1, asker=None) == {1}


def test_policy_guild_and_an_operator_see_all(guild: Guild) -> None:
    assert visible(guild, None) is None
    Guild.objects.update(recall_policy=Guild.RecallPolicy.GUILD)
    assert visible(guild, 4) is None


def test_a_private_conversation_is_its_own_scope() -> None:
    guild = Guild.objects.create(discord_id=7, kind=Guild.Kind.DM)
    assert visible(guild, 7) is None


def test_channels_with_the_same_readers_share_them_and_no_id_is_stored(guild: Guild) -> None:
    snapshots.record(guild=GUILD, readers={1: {77, 78}, 2: [78, 77, 77]}, channels=CHANNELS)
    [audience] = Audience.objects.all()
    assert len(bytes(audience.readers)) == 16
    assert (77).to_bytes(8, "little") not in bytes(audience.readers)
    assert set(Channel.objects.exclude(audience=None).values_list("discord_id", flat=True)) == {1, 2}


def test_what_a_later_snapshot_does_not_know_is_unknown_again(guild: Guild) -> None:
    snapshots.record(guild=GUILD, readers={1: EVERYBODY, 2: TEAM}, channels=CHANNELS)
    assert visible(guild, 3) == {3}


def test_losing_access_counts_at_once(guild: Guild) -> None:
    assert visible(guild, 3) == {1, 2, 3, 5}
    snapshots.record(guild=GUILD, readers={1: EVERYBODY, 2: TEAM, 3: {1, 2, 30}}, channels=CHANNELS)
    assert visible(guild, 3) == {1, 3}


def test_a_channel_that_nobody_reads_shows_nothing_of_others(guild: Guild) -> None:
    snapshots.record(guild=GUILD, readers={1: EVERYBODY, 3: []}, channels=CHANNELS)
    assert visible(guild, 3) == {3}


def test_other_servers_are_left_alone(guild: Guild) -> None:
    snapshots.record(guild=GuildInfo(id=200), readers={50: {1}}, channels=[ChannelInfo(id=50)])
    assert visible(guild, 3) == {1, 2, 3, 5}
