"""When the bot speaks: mentions, roles, replies, allowed channels, private conversations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from botrunner.rules import (
    NO_WORDS,
    calls,
    is_channel_allowed,
    is_silenced,
    may_send,
    may_want_answer,
    may_write_in_private,
    policy_of,
    turn_request,
    wants_answer,
)
from memory.conf import DiscordConfig
from memory.models import Channel, Guild
from tests.botrunner import discord_objects as made
from tests.factories import ChannelFactory, GuildFactory, snowflake

ROLE = 1_200_000_000_000_000_500


@pytest.fixture
def server() -> Any:
    guild = made.guild(
        everyone=(1 << 10) | (1 << 11),
        roles=[made.role_data(ROLE, "musebot"), made.role_data(88, "others")],
        channels=[made.channel_data(10)],
    )
    guild.me._roles.add(ROLE)
    return guild


def mention(id: int, name: str = "x") -> dict[str, Any]:
    return {
        **made.user_data(id, name),
        "member": {k: v for k, v in made.member_data(id, name).items() if k != "user"},
    }


def in_reply_to(server: Any, author: int) -> dict[str, Any]:
    answered = {
        "id": str(snowflake()), "channel_id": "10", "content": "earlier", "author": made.user_data(author, "earlier"),
        "timestamp": "2026-03-01T12:00:00+00:00", "edited_timestamp": None, "tts": False, "mention_everyone": False,
        "mentions": [], "mention_roles": [], "attachments": [], "embeds": [], "pinned": False, "type": 0, "components": [],
    }  # fmt: skip
    reference = {"message_id": answered["id"], "channel_id": "10", "guild_id": str(server.id)}
    return {"type": 19, "message_reference": reference, "referenced_message": answered}


def test_it_is_called_by_a_mention_its_role_or_a_reply(server: Any) -> None:
    def called(text: str = "hello", **extra: Any) -> bool:
        message = made.message(text, guild=server, channel=server.get_channel(10), **extra)
        return calls(message, server._state.user)

    assert not called()
    assert called(f"<@{made.BOT}> hello", mentions=[mention(made.BOT)])
    assert called(f"<@&{ROLE}> hello", mention_roles=[str(ROLE)])
    assert called(**in_reply_to(server, made.BOT))
    assert not called("<@5> hello", mentions=[mention(5)])
    assert not called("<@&88> hello", mention_roles=["88"])
    assert not called("@everyone", mention_everyone=True)
    assert not called(**in_reply_to(server, 5))


def test_channel_lists_count_for_threads_too() -> None:
    channel, thread = SimpleNamespace(id=1), SimpleNamespace(id=9, parent_id=1)
    for allowed, config in [
        (True, DiscordConfig()),
        (True, DiscordConfig(channels=frozenset({1}))),
        (False, DiscordConfig(channels=frozenset({2}))),
        (False, DiscordConfig(channels_disallowed=frozenset({1}))),
        (False, DiscordConfig(channels=frozenset({1, 9}), channels_disallowed=frozenset({1}))),
    ]:
        assert is_channel_allowed(channel, config) is allowed
        assert is_channel_allowed(thread, config) is allowed


def test_private_conversations_are_for_those_who_are_named() -> None:
    ada: Any = SimpleNamespace(id=5, name="ada")
    assert not may_write_in_private(ada, DiscordConfig())
    assert may_write_in_private(ada, DiscordConfig(private_message_users=frozenset({"Ada"})))
    assert may_write_in_private(ada, DiscordConfig(private_message_users=frozenset({"5"})))
    assert not may_write_in_private(ada, DiscordConfig(private_message_users=frozenset({"ben"})))


def test_it_does_not_ask_the_model_where_it_may_not_write(server: Any) -> None:
    assert may_send(server.get_channel(10))
    silent = made.guild(everyone=1 << 10, channels=[made.channel_data(10)])
    assert not may_send(silent.get_channel(10))


def test_a_mention_without_words_is_still_a_question(server: Any) -> None:
    def question(text: str, **extra: Any) -> str:
        message = made.message(text, guild=server, channel=server.get_channel(10), **extra)
        return turn_request(message, server._state.user).question

    picture = {
        "id": "1",
        "filename": "boat.png",
        "size": 1,
        "url": "https://cdn.discordapp.com/x",
        "proxy_url": "x",
    }
    assert question(f"<@{made.BOT}>") == NO_WORDS
    assert question(f"<@{made.BOT}>", attachments=[picture]) == "[boat.png]"
    assert question(f"<@{made.BOT}> what?", attachments=[picture]) == "what?"


@pytest.fixture
def known(server: Any, db: None) -> Channel:
    """The channel of the server as the database knows it."""
    channel: Channel = ChannelFactory(discord_id=10, guild=GuildFactory(discord_id=server.id))
    return channel


def configure(settings: Any, **values: Any) -> None:
    discord = settings.MUSEBOT.discord.model_copy(update=values)
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"discord": discord})


def answers(server: Any, **extra: Any) -> bool:
    """Whether a message in the channel is answered, as the bot decides it."""
    message = made.message("hello", guild=server, channel=server.get_channel(10), **extra)
    return may_want_answer(message) and wants_answer(message, server._state.user, policy_of(message))


def test_a_channel_may_ask_for_no_mention(server: Any, known: Channel) -> None:
    called = {"mentions": [mention(made.BOT)]}
    assert answers(server, **called) and not answers(server)
    Channel.objects.update(mention_needed=False)
    assert answers(server)
    Channel.objects.update(mention_needed=None)
    Guild.objects.update(mention_needed=False)
    assert answers(server)
    Channel.objects.update(mention_needed=True)
    assert answers(server, **called) and not answers(server)


def test_the_response_rate_counts_where_no_mention_is_needed(
    server: Any, known: Channel, settings: Any
) -> None:
    configure(settings, response_rate=0)
    Channel.objects.update(mention_needed=False)
    assert not answers(server) and answers(server, mentions=[mention(made.BOT)])


def test_replies_are_switched_off_at_once_in_a_channel_and_on_a_server(server: Any, known: Channel) -> None:
    called = {"mentions": [mention(made.BOT)]}
    message = made.message("hello", guild=server, channel=server.get_channel(10))
    for change, back in (
        (
            lambda: Channel.objects.update(reply_enabled=False),
            lambda: Channel.objects.update(reply_enabled=None),
        ),
        (lambda: Guild.objects.update(reply_enabled=False), lambda: Guild.objects.update(reply_enabled=True)),
        (lambda: Guild.objects.update(enabled=False), lambda: Guild.objects.update(enabled=True)),
    ):
        assert answers(server, **called) and not is_silenced(message)
        change()
        assert not answers(server, **called) and is_silenced(message)
        back()
    Guild.objects.update(reply_enabled=False)
    Channel.objects.update(reply_enabled=True)
    assert answers(server, **called)


def test_what_the_configuration_closes_no_policy_opens(server: Any, known: Channel, settings: Any) -> None:
    Channel.objects.update(reply_enabled=True, mention_needed=False)
    for closed in ({"channels_disallowed": frozenset({10})}, {"channels": frozenset({11})}):
        configure(settings, **{"channels": frozenset(), "channels_disallowed": frozenset()} | closed)
        assert not answers(server)


def test_a_server_that_is_not_known_yet_follows_the_configuration(
    server: Any, db: None, settings: Any
) -> None:
    assert not answers(server) and answers(server, mentions=[mention(made.BOT)])
    configure(settings, requires_mention=False)
    assert answers(server)
