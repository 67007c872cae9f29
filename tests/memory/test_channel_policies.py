"""Policies of servers and channels: who says what counts, and that capture, history, recall and persona obey at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import DatabaseError
from django.utils import timezone

from memory import backends, blocks, capture, chat, facts, policies, retrieval, snapshots
from memory.blocks import Actor
from memory.capture import backfill, switches
from memory.capture.backfill import ListedChannel
from memory.capture.importing.service import REASONS
from memory.capture.switches import PolicyConflict
from memory.errors import InvalidInput, NotFound
from memory.llm.scripted import ScriptedChatModel
from memory.models import Channel, Fact, Guild, Message, Reply, Scan, ScanChannel
from memory.types import ChannelInfo
from tests.factories import ChannelFactory, MessageFactory, incoming, snowflake
from tests.memory.backfill_support import GENERAL, GUILD, member, page, reading, said, work
from tests.memory.blocks_support import ada as core_member
from tests.memory.blocks_support import caller, in_groups, turn
from tests.memory.chat_support import ask
from tests.memory.facts_support import use_facts
from tests.memory.memory_support import opted_in
from tests.memory.recall_support import Town

pytestmark = pytest.mark.django_db


@pytest.fixture
def town() -> Town:
    return Town()


def use_discord(settings, **values):
    discord = settings.MUSEBOT.discord.model_copy(update=values)
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"discord": discord})


# Who says what counts


def test_the_nearest_that_says_something_counts(town):
    thread = ChannelFactory(guild=town.guild, parent=town.channel, kind="public_thread")

    def capture_in(*ids):
        found = policies.policy_for(town.guild.discord_id, ids).capture
        return found.value, found.origin

    assert capture_in(thread.discord_id) == (True, "server")
    Channel.objects.filter(pk=town.channel.pk).update(capture_enabled=False)
    assert capture_in(thread.discord_id) == (False, "channel")
    assert capture_in(thread.discord_id, town.channel.discord_id) == (False, "channel")
    assert capture_in(town.channel.discord_id) == (False, "here")
    Channel.objects.filter(pk=town.channel.pk).update(capture_enabled=True)
    Guild.objects.update(capture_enabled=False)
    assert capture_in(thread.discord_id) == (True, "channel")
    assert capture_in(5) == (False, "server")
    Guild.objects.update(enabled=False)
    assert capture_in(thread.discord_id) == (False, "switched off")


def test_the_configuration_is_the_baseline_and_what_it_closes_stays_closed(town, settings):
    general, other = town.channel.discord_id, ChannelFactory(guild=town.guild).discord_id
    Channel.objects.update(capture_enabled=True, reply_enabled=True)
    use_discord(settings, channels_disallowed=frozenset({general}), channels=frozenset({general}))
    closed, unlisted = (policies.policy_for(town.guild.discord_id, [one]) for one in (general, other))
    assert (closed.capture.value, closed.capture.why, closed.capture.fixed) == (
        False,
        "channelsDisallowed",
        True,
    )
    assert (unlisted.capture.value, unlisted.reply.value, unlisted.reply.why) == (True, False, "channels")
    assert (closed.mention.value, closed.mention.origin) == (True, "configuration")
    use_discord(settings, requires_mention=False)
    assert policies.policy_for(town.guild.discord_id, [other]).mention.value is False
    Guild.objects.update(mention_needed=True)
    found = policies.policy_for(town.guild.discord_id, [other]).mention
    assert (found.value, found.origin) == (True, "server")


def test_two_admins_do_not_overwrite_one_another(town):
    guild_id, general, other = (
        town.guild.discord_id,
        town.channel.discord_id,
        ChannelFactory(guild=town.guild),
    )
    switches.change_channels(guild_id, [general], {"recalls": "nothing"}, as_of=0)
    both = [general, other.discord_id]
    with pytest.raises(PolicyConflict) as raised:
        switches.change_channels(guild_id, both, {"recalls": "channel"}, as_of=0)
    assert raised.value.names == ("#general",)
    assert set(Channel.objects.values_list("recalls", flat=True)) == {"nothing", ""}
    assert switches.change_channels(guild_id, [other.discord_id], {"recalls": "channel"}, as_of=0)
    assert switches.change_channels(guild_id, [general], {"recalls": "channel"}, as_of=1)
    # What would change nothing is no conflict.
    assert switches.change_channels(guild_id, [general], {"recalls": "channel"}, as_of=0) == []


def test_what_cannot_be_set_is_refused(town):
    for values in ({"name": "x"}, {"capture_enabled": "yes"}, {"recalls": "everything"}):
        with pytest.raises(InvalidInput):
            switches.change_channels(town.guild.discord_id, None, values)
    for values in ({"recall_policy": "all"}, {"recalls": ""}, {"snapshot_at": None}):
        with pytest.raises(InvalidInput):
            switches.change_server(town.guild.discord_id, values)
    with pytest.raises(NotFound):
        switches.change_server(5, {"enabled": False})


# Capture


def test_what_is_said_where_it_is_switched_off_is_not_stored():
    ada = opted_in("ada")
    assert capture.record_message(incoming("stored", author=ada))
    channel = Channel.objects.get()
    for values in ({"capture_enabled": False}, {"capture_enabled": None}):
        switches.change_channels(channel.guild.discord_id, [channel.discord_id], values)
        stored = capture.record_message(incoming("x", author=ada)) is not None
        assert stored is (values["capture_enabled"] is None)
    switches.change_server(channel.guild.discord_id, {"enabled": False})
    assert capture.record_message(incoming("x", author=ada)) is None
    reply = incoming("answer", author=ada)
    assert capture.record_reply(reply, owner_id=ada.id) is None


def test_a_new_channel_of_a_server_that_remembers_nothing():
    ada = opted_in("ada")
    capture.record_message(incoming("stored", author=ada))
    switches.change_server(Guild.objects.get().discord_id, {"capture_enabled": False})
    elsewhere = ChannelInfo(snowflake(), "new")
    assert capture.record_message(incoming("x", author=ada, channel=elsewhere)) is None


def test_an_edit_where_nothing_is_remembered_any_more_takes_the_memory_with_it():
    ada, id = opted_in("ada"), snowflake()
    capture.record_message(incoming("first", author=ada, id=id))
    Channel.objects.update(capture_enabled=False)
    assert capture.edit_message(discord_id=id, text="second", edited_at=timezone.now())
    assert not Message.objects.exists()


def test_nothing_is_stored_while_the_policy_cannot_be_read(monkeypatch):
    ada = opted_in("ada")

    def unreadable(*args, **kwargs):
        raise DatabaseError("the table cannot be read")

    monkeypatch.setattr("memory.policies.resolve", unreadable)
    with pytest.raises(DatabaseError):
        capture.record_message(incoming("x", author=ada))
    assert not Message.objects.exists()


def test_an_export_says_what_stayed_out_and_why():
    ada = opted_in("ada")
    capture.record_message(incoming("stored", author=ada))
    Channel.objects.update(capture_enabled=False)
    found = capture.record_messages([incoming("x", author=ada)], source="import")
    assert found.skipped == {"capture_disabled": 1} and "remembering" in REASONS["capture_disabled"]
    Guild.objects.update(enabled=False)
    found = capture.record_messages([incoming("x", author=ada)], source="import")
    assert found.skipped == {"server_disabled": 1} and "switched off" in REASONS["server_disabled"]


def test_histories_are_read_no_further_once_a_channel_is_switched_off():
    other = ChannelInfo(GENERAL.id + 1, "other")
    scan = reading(ada := member(), channels=[ListedChannel(GENERAL), ListedChannel(other)])
    one = work()
    messages = said(ada, "one", "two")
    switches.change_channels(GUILD.id, [one.channel.id], {"capture_enabled": False})
    assert backfill.commit_page(one, page(messages, last=False)) is None
    row = ScanChannel.objects.get(channel_id=one.channel.id)
    assert (row.state, row.error_code) == ("unreadable", "capture_disabled")
    assert not Message.objects.exists() and Scan.objects.get(pk=scan.pk).state == "running"
    switches.change_server(GUILD.id, {"enabled": False})
    assert Scan.objects.get(pk=scan.pk).state == "done"


def test_the_model_notes_nothing_where_nothing_is_remembered():
    member, channel = core_member(), ChannelFactory()
    model = caller(("core_memory_append", {"block": "working_context", "content": "a secret plan"}))
    Channel.objects.update(capture_enabled=False)
    with backends.override(chat_model=model):
        assert chat.answer(turn(member, where=channel)).text == "Done." or model.requests
    assert blocks.get(blocks.working_context(channel.discord_id)).value == ""
    assert not any(request.tools for request in model.requests)


# Recall


@pytest.fixture
def harbour(town):
    """Words in two channels and a thread of the first; all may be read by everybody."""
    town.other = ChannelFactory(guild=town.guild, name="other")
    town.thread = ChannelFactory(guild=town.guild, name="thread", parent=town.channel, kind="public_thread")
    town.said = {
        "here": town.say("Ada", "The quixotarium opens at nine"),
        "there": town.say("Ada", "The quixotarium is by the pier", channel=town.other),
        "thread": town.say("Ada", "A quixotarium has no roof", channel=town.thread),
    }
    return town


def recalled(town, channel):
    found = retrieval.recall(town.ask("quixotarium", channel_id=channel.discord_id))
    names = {message.key: name for name, message in town.said.items()}
    return {names[one.key] for one in found.memories}, found.degraded


def test_what_may_be_recalled_in_a_channel(harbour):
    assert recalled(harbour, harbour.channel)[0] == {"here", "there", "thread"}
    ids = [harbour.channel.discord_id]
    switches.change_channels(harbour.guild.discord_id, ids, {"recalls": "channel"})
    for place in (harbour.channel, harbour.thread):
        assert recalled(harbour, place)[0] == {"here", "thread"}
    assert recalled(harbour, harbour.other)[0] == {"here", "there", "thread"}
    switches.change_channels(harbour.guild.discord_id, ids, {"recalls": "nothing"})
    assert recalled(harbour, harbour.thread) == (set(), "recall_off")
    assert recalled(harbour, harbour.other)[0] == {"here", "there", "thread"}
    switches.change_server(harbour.guild.discord_id, {"recalls": "nothing"})
    assert recalled(harbour, harbour.other) == (set(), "recall_off")


def test_this_channel_only_never_shows_more_than_its_readers_may_read(harbour):
    """A thread whose readers are not known stays out of its channel."""
    secret = ChannelFactory(guild=harbour.guild, parent=harbour.channel, kind="private_thread")
    Guild.objects.update(recall_policy="audience", snapshot_at=timezone.now())
    Channel.objects.filter(pk=harbour.channel.pk).update(recalls="channel")
    harbour.guild.refresh_from_db()
    seen = snapshots.visible_channels(guild=harbour.guild, channel_id=harbour.channel.discord_id, asker_id=1)
    assert seen.ids == {harbour.channel.discord_id} and secret.discord_id not in seen.ids


def test_the_operators_own_search_is_not_limited(harbour):
    Guild.objects.update(recalls="nothing")
    assert len(retrieval.recall(harbour.ask("quixotarium", channel_id=None)).memories) == 3


def test_the_trace_says_that_recall_is_switched_off(harbour):
    Channel.objects.filter(pk=harbour.channel.pk).update(recalls="nothing")
    with backends.override(chat_model=ScriptedChatModel(["Fine."])):
        chat.answer(ask("quixotarium?", channel=harbour.channel))
    assert Reply.objects.get().degraded == "recall_off"


def test_what_is_known_of_a_member_follows(harbour, settings):
    use_facts(settings, inject_in_groups=True)
    in_groups(settings)
    asker = harbour.member("Ada")
    facts.remember(asker.user_id, ["Prefers tea", "Sails at night", "Has a dog"])
    for text, channel in (("Sails at night", harbour.channel), ("Has a dog", harbour.other)):
        evidence = MessageFactory(channel=channel, member=asker)
        Fact.objects.filter(text=text).update(evidence=evidence, audience="guild", guild=harbour.guild)

    def known():
        with backends.override(chat_model=ScriptedChatModel(["Fine."])):
            return set(chat.answer(ask("What do I do?", channel=harbour.channel, asker=asker)).facts)

    blocks.append(blocks.human(asker.user_id), "likes rain", actor=Actor("admin", 1))
    assert known() == {"Prefers tea", "Sails at night", "Has a dog"}
    assert "likes rain" in prompt(harbour.channel, asker)
    Channel.objects.filter(pk=harbour.channel.pk).update(recalls="channel")
    assert known() == {"Sails at night"}
    assert "likes rain" not in prompt(harbour.channel, asker)
    Channel.objects.filter(pk=harbour.channel.pk).update(recalls="nothing")
    assert known() == set()


# Persona


def prompt(channel, asker=None):
    """The system message of a turn there; a thread comes with the channel that it belongs to."""
    model, parent = ScriptedChatModel(["Fine."]), channel.parent
    info = ChannelInfo(channel.discord_id, parent=ChannelInfo(parent.discord_id) if parent else None)
    request = replace(ask("Who are you?", channel=channel, asker=asker), channel=info)
    with backends.override(chat_model=model):
        chat.answer(request)
    return model.requests[-1].messages[0].content


def test_the_persona_of_a_channel_stands_in_its_servers_place_and_its_threads_follow(town):
    thread = ChannelFactory(guild=town.guild, parent=town.channel, kind="public_thread")
    other = ChannelFactory(guild=town.guild)
    admin = Actor("admin", 1)
    blocks.edit(blocks.persona(town.guild.discord_id), "You are Harbour.", version=0, actor=admin)
    blocks.edit(blocks.channel_persona(town.channel.discord_id), "You are General.", version=0, actor=admin)
    assert "You are General." in prompt(town.channel) and "You are Harbour." not in prompt(town.channel)
    assert "You are Harbour." in prompt(other)
    assert "You are General." in prompt(thread)
    blocks.clear(blocks.channel_persona(town.channel.discord_id), actor=admin)
    assert "You are Harbour." in prompt(town.channel)


def test_the_persona_goes_with_its_channel(town):
    ref = blocks.channel_persona(town.channel.discord_id)
    blocks.edit(ref, "You are General.", version=0, actor=Actor("admin", 1))
    capture.forget_channel(town.channel.discord_id)
    assert blocks.get(ref).value == ""


# Categories


def in_category(town: Town, **values) -> tuple[Channel, Channel, Channel]:
    """A category, the town's channel in it, and a thread of that."""
    category = ChannelFactory(guild=town.guild, kind="category", name="Quiet", **values)
    Channel.objects.filter(pk=town.channel.pk).update(category=category)
    thread = ChannelFactory(guild=town.guild, parent=town.channel, kind="public_thread")
    return category, Channel.objects.get(pk=town.channel.pk), thread


def test_a_category_counts_where_its_channels_say_nothing(town):
    category, channel, thread = in_category(
        town, capture_enabled=False, mention_needed=False, recalls="channel"
    )
    for one in (channel, thread):
        found = policies.policy_for(town.guild.discord_id, [one.discord_id])
        assert (found.capture.value, found.capture.origin) == (False, "category")
        assert (found.mention.value, found.mention.origin) == (False, "category")
        assert (found.recall.value, found.recall.origin) == ("channel", "category")
        assert (found.reply.value, found.reply.origin) == (True, "server")
    assert policies.policy_for(town.guild.discord_id, [category.discord_id]).capture.origin == "here"
    Channel.objects.filter(pk=channel.pk).update(capture_enabled=True)
    found = policies.policy_for(town.guild.discord_id, [thread.discord_id, channel.discord_id])
    assert (found.capture.value, found.capture.origin) == (True, "channel")
    assert found.mention.origin == "category"


def test_the_id_of_a_category_means_nothing_in_the_configuration(town, settings):
    category, channel, _ = in_category(town)
    use_discord(settings, channels_disallowed=frozenset({category.discord_id}))
    assert policies.policy_for(town.guild.discord_id, [channel.discord_id]).capture.value is True
    assert policies.resolve(town.guild, policies.lineage(channel)).capture.value is True


def test_nothing_is_stored_of_a_channel_whose_category_remembers_nothing():
    ada = opted_in("ada")
    quiet = ChannelInfo(81, "Quiet", "category")
    place = replace(incoming("first", author=ada).channel, category=quiet)
    assert capture.record_message(replace(incoming("first", author=ada), channel=place))
    assert Channel.objects.get(discord_id=place.id).category_id == 81
    switches.change_channels(Guild.objects.get().discord_id, [81], {"capture_enabled": False})
    assert capture.record_message(replace(incoming("second", author=ada), channel=place)) is None
    # Where it is not known in which category the channel stands, what was known before holds.
    known = replace(place, category=None)
    assert capture.record_message(replace(incoming("third", author=ada), channel=known)) is None
    thread = ChannelInfo(83, "aside", "public_thread", parent=replace(place, id=84))
    assert capture.record_message(replace(incoming("aside", author=ada), channel=thread)) is None
    moved = replace(place, category=None, uncategorised=True)
    assert capture.record_message(replace(incoming("fourth", author=ada), channel=moved))
    assert Channel.objects.get(discord_id=place.id).category is None


def test_a_deleted_category_counts_no_more(town):
    category, channel, _ = in_category(town, capture_enabled=False)
    Channel.objects.filter(pk=category.pk).update(deleted_at=timezone.now())
    assert policies.policy_for(town.guild.discord_id, [channel.discord_id]).capture.origin == "server"


def test_all_channels_of_a_server_are_changed_without_its_categories(town):
    category, channel, _ = in_category(town)
    changed = switches.change_channels(town.guild.discord_id, None, {"reply_enabled": False})
    assert [one.pk for one in changed] == [channel.pk]


def test_a_history_is_read_no_further_in_a_category_that_is_switched_off():
    reading(
        member(), channels=[ListedChannel(replace(GENERAL, category=ChannelInfo(82, "Quiet", "category")))]
    )
    switches.change_channels(GUILD.id, [82], {"capture_enabled": False})
    state = ScanChannel.objects.get(channel_id=GENERAL.id)
    assert (state.state, state.error_code) == ("unreadable", "capture_disabled")
