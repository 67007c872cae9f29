"""Discord's messages become plain values, without mentions of the bot."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from botrunner import adapters
from tests.botrunner import discord_objects as made
from tests.factories import snowflake

ROLE = 1_200_000_000_000_000_500


@pytest.fixture
def server() -> Any:
    id = snowflake()
    return made.guild(
        id=id,
        roles=[made.role_data(ROLE, "musebot"), made.role_data(77, "crew")],
        members=[made.member_data(5, "ada", [77])],
        channels=[made.channel_data(10), made.channel_data(11, "talk", made.VOICE)],
        threads=[made.thread_data(12, 10, id), made.thread_data(13, 10, id, made.PRIVATE_THREAD)],
    )


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (f"<@{made.BOT}> hello", "hello"),
        (f"<@!{made.BOT}> hello", "hello"),
        (f"hello <@{made.BOT}>, how are you?", "hello , how are you?"),
        (f"<@&{ROLE}> hello", "hello"),
        (f"<@{made.BOT}>", ""),
        (f"<@{made.BOT}>\nline one\n  line two", "line one\n  line two"),
        ("<@55> hello", "<@55> hello"),
        ("<@&77> hello", "<@&77> hello"),
    ],
)
def test_mentions_of_the_bot_are_taken_out(text: str, rest: str) -> None:
    assert adapters.without_mentions(text, made.BOT, [ROLE]) == rest


def test_a_message_keeps_author_place_and_time(server: Any) -> None:
    author = made.user_data(5, "ada")
    member = {key: value for key, value in made.member_data(5, "ada", [77]).items() if key != "user"}
    message = made.message(
        f"<@{made.BOT}> ahoy",
        guild=server,
        channel=server.get_channel(10),
        author=author,
        member=member,
        mentions=[{**made.user_data(made.BOT, "musebot", bot=True), "member": member}],
    )
    value = adapters.incoming(message, server._state.user)
    assert (value.text, value.guild.id, value.guild.name) == ("ahoy", server.id, "Harbour")
    assert (value.channel.id, value.channel.name, value.channel.kind, value.channel.topic) == (
        10,
        "general",
        "text",
        "of this and that",
    )
    assert (value.author.id, value.author.username, value.author.display_name) == (5, "ada", "Ada")
    assert value.author.roles == ((77, "crew"),)
    assert value.sent_at == message.created_at
    assert value.mentions_users == () and value.reply_to is None


def test_a_thread_carries_its_parent(server: Any) -> None:
    thread = adapters.channel_of(server.get_thread(12))
    assert (thread.kind, thread.parent and thread.parent.id) == ("public_thread", 10)
    assert adapters.channel_of(server.get_thread(13)).kind == "private_thread"


def test_a_channel_carries_its_category_and_says_where_it_has_none() -> None:
    channels = [
        made.channel_data(20, "Quiet", made.CATEGORY),
        made.channel_data(21, "calm") | {"parent_id": "20"},
        made.channel_data(22, "loud"),
    ]
    here = made.guild(channels=channels, threads=[made.thread_data(23, 21, 1)])
    inside, outside = (adapters.channel_of(here.get_channel(one)) for one in (21, 22))
    assert inside.category and (inside.category.id, inside.category.name, inside.category.kind) == (
        20,
        "Quiet",
        "category",
    )
    assert (inside.uncategorised, outside.uncategorised, outside.category) == (False, True, None)
    thread = adapters.channel_of(here.get_thread(23))
    assert thread.category is None and thread.parent == inside and not thread.uncategorised
    assert not adapters.channel_of(SimpleNamespace(id=1, type=None)).uncategorised


def test_a_private_conversation_is_a_scope_of_its_own() -> None:
    guild = adapters.guild_of(None, 99)
    assert (guild.id, guild.kind) == (99, "dm")


def test_an_unknown_kind_of_channel_counts_as_private() -> None:
    assert adapters.channel_of(SimpleNamespace(id=1, type=None)).kind == "private_thread"


@pytest.mark.parametrize(
    ("extra", "plain"),
    [
        ({}, True),
        ({"type": 19}, True),
        ({"type": 7}, False),
        ({"webhook_id": "5"}, False),
        ({"type": 6}, False),
    ],
)
def test_only_what_people_write_is_plain(server: Any, extra: dict[str, Any], plain: bool) -> None:
    message = made.message("x", guild=server, channel=server.get_channel(10), **extra)
    assert adapters.is_plain(message) is plain


def test_a_bot_is_not_plain(server: Any) -> None:
    author = made.user_data(6, "other", bot=True)
    assert not adapters.is_plain(
        made.message("x", guild=server, channel=server.get_channel(10), author=author)
    )


def test_only_replies_answer_a_message(server: Any) -> None:
    reference = {"message_id": "42", "channel_id": "10", "guild_id": str(server.id)}
    channel = server.get_channel(10)
    reply = made.message("x", guild=server, channel=channel, type=19, message_reference=reference)
    forward = made.message("x", guild=server, channel=channel, message_reference={**reference, "type": 1})
    assert (adapters.answered_id(reply), adapters.answered_id(forward)) == (42, None)


def edit(**data: Any) -> Any:
    return adapters.edit_of(SimpleNamespace(data=data), made.BOT, [])  # type: ignore[arg-type]


def test_an_edit_is_one_only_with_content_and_a_time() -> None:
    assert edit(embeds=[{}]) is None
    assert edit(content="same", edited_timestamp=None, embeds=[{}]) is None
    text, at = edit(content=f"<@{made.BOT}> new", edited_timestamp="2026-03-02T10:00:00+00:00")
    assert (text, at.isoformat()) == ("new", "2026-03-02T10:00:00+00:00")
