"""Steps that the tests of core memory share."""

from __future__ import annotations

from typing import Any

from memory import consent
from memory.blocks import Place, Toolbox
from memory.blocks.providers import provider
from memory.llm.base import ToolCall
from memory.llm.scripted import ScriptedChatModel, ScriptedReply
from memory.models import Channel, Guild
from memory.types import ChannelInfo, GuildInfo, Person, TurnRequest
from tests.factories import ChannelFactory, GuildFactory, MemberFactory, snowflake


def use_core(settings: Any, **values: Any) -> None:
    """Changes ``Config.core_memory`` for one test."""
    config = settings.MUSEBOT
    core = config.core_memory.model_copy(update=values)
    settings.MUSEBOT = config.model_copy(update={"core_memory": core})


def in_groups(settings: Any) -> None:
    """Lets what is known of a member be used in groups."""
    config = settings.MUSEBOT
    facts = config.facts.model_copy(update={"inject_in_groups": True})
    settings.MUSEBOT = config.model_copy(update={"facts": facts})


def place(member: Any, *, private: bool = True, channel: Channel | None = None) -> Place:
    given = consent.find(member.user_id)
    assert given is not None
    if channel is None:
        kind = Guild.Kind.DM if private else Guild.Kind.GUILD
        channel = ChannelFactory(guild=GuildFactory(kind=kind), kind="dm" if private else "text")
    return Place(given, channel.discord_id, channel.guild.discord_id, private)


def toolbox(where: Place, name: str = "letta") -> Toolbox:
    return Toolbox(where, provider(name))


def calls(*wanted: tuple[str, dict[str, Any]], text: str = "") -> ScriptedReply:
    return ScriptedReply(text, tool_calls=tuple(ToolCall(name, arguments) for name, arguments in wanted))


def caller(*wanted: tuple[str, dict[str, Any]], then: str = "Done.") -> ScriptedChatModel:
    """A model that calls these tools at once in the first round of each turn, and answers in the second."""

    def reply(request: Any) -> Any:
        return then if request.messages[-1].role == "tool" else calls(*wanted)

    return ScriptedChatModel(reply, tools=True)


def turn(member: Any, question: str = "Hello", *, where: Channel | None = None, **values: Any) -> TurnRequest:
    """A question of a member in a channel; without one, in private."""
    channel = where or ChannelFactory(guild=GuildFactory(kind=Guild.Kind.DM), kind="dm")
    private = channel.guild.kind == Guild.Kind.DM
    return TurnRequest(
        question,
        Person(member.user_id, member.username, member.display_name),
        GuildInfo(channel.guild.discord_id, channel.guild.name, "dm" if private else "guild"),
        ChannelInfo(channel.discord_id, channel.name, channel.kind),
        message_id=values.pop("message_id", None) or snowflake(),
        is_group=not private,
        **values,
    )


def ada() -> Any:
    return MemberFactory(username="ada", display_name="Ada")
