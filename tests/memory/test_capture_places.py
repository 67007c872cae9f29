"""Where a message is stored from, and where it is not."""

import pytest

from memory import capture
from memory.models import Channel, Guild, Message
from memory.types import ChannelInfo, GuildInfo
from tests.factories import incoming
from tests.memory.memory_support import opted_in, say

pytestmark = pytest.mark.django_db

HARBOUR = GuildInfo(id=1_300_000_000_000_000_001, name="Harbour")
PARENT = ChannelInfo(id=1_300_000_000_000_000_010, name="boats")
THREAD = ChannelInfo(id=1_300_000_000_000_000_011, name="repairs", kind="public_thread", parent=PARENT)


def record(channel):
    return capture.record_message(incoming("hello", author=opted_in("ada"), guild=HARBOUR, channel=channel))


def disallow(settings, *ids):
    discord = settings.MUSEBOT.discord.model_copy(update={"channels_disallowed": frozenset(ids)})
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"discord": discord})


@pytest.mark.parametrize("channel", [PARENT, THREAD])
def test_a_disallowed_channel_and_its_threads(settings, channel):
    disallow(settings, PARENT.id)
    assert record(channel) is None


def test_a_disallowed_parent_that_only_the_database_knows(settings):
    capture.remember_guild(HARBOUR, [THREAD])
    disallow(settings, PARENT.id)
    bare = ChannelInfo(id=THREAD.id, name="repairs", kind="public_thread")
    assert record(bare) is None


def test_channels_of_the_configuration_limit_replies_not_memory(settings):
    discord = settings.MUSEBOT.discord.model_copy(update={"channels": frozenset({1})})
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"discord": discord})
    assert record(PARENT) is not None


def test_a_guild_that_is_switched_off():
    capture.remember_guild(HARBOUR)
    Guild.objects.update(capture_enabled=False)
    assert record(PARENT) is None


@pytest.mark.parametrize("channel", [PARENT, THREAD])
def test_a_channel_that_is_switched_off_and_its_threads(channel):
    capture.remember_guild(HARBOUR, [THREAD])
    Channel.objects.filter(discord_id=PARENT.id).update(capture_enabled=False)
    assert record(channel) is None
    assert not Message.objects.exists()


def test_a_thread_is_stored_with_its_parent():
    assert record(THREAD) is not None
    row = Channel.objects.get(discord_id=THREAD.id)
    assert (row.parent_id, row.kind, row.guild.name) == (PARENT.id, "public_thread", "Harbour")


def test_names_and_topics_are_kept_current_and_not_lost():
    ada = opted_in("ada")
    say(ada, "one", guild=HARBOUR, channel=PARENT)
    capture.remember_guild(
        GuildInfo(id=HARBOUR.id, name="New harbour"), [ChannelInfo(id=PARENT.id, name="ships", topic="sails")]
    )
    say(ada, "two", guild=GuildInfo(id=HARBOUR.id), channel=ChannelInfo(id=PARENT.id))
    channel = Channel.objects.get(discord_id=PARENT.id)
    assert (channel.guild.name, channel.name, channel.topic) == ("New harbour", "ships", "sails")


def test_each_private_conversation_is_a_scope_of_its_own():
    ada = opted_in("ada")
    dm = GuildInfo(id=1_300_000_000_000_000_077, kind="dm")
    key = say(ada, "secret", guild=dm, channel=ChannelInfo(id=dm.id, kind="dm"))
    assert Guild.objects.get(discord_id=dm.id).kind == "dm"
    assert Message.objects.get(key=key).content["server"] is None


def test_the_bot_comes_back_to_a_guild_that_it_left():
    ada = opted_in("ada")
    say(ada, "one", guild=HARBOUR)
    assert capture.forget_guild(HARBOUR.id) == 1
    assert capture.record_message(incoming("two", author=ada, guild=HARBOUR)) is None
    capture.remember_guild(HARBOUR)
    assert say(ada, "three", guild=HARBOUR)
