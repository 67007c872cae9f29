"""What the Playground asks with, and one turn of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.http import QueryDict

from memory import chat, selectors
from memory.conf import get_config
from memory.errors import NotFound
from memory.models import Channel, Member
from memory.selectors import GuildRow
from memory.types import (
    ChannelInfo,
    GuildInfo,
    Person,
    TurnDelta,
    TurnEvent,
    TurnRequest,
    TurnResult,
    Utterance,
)
from musebot_site.dashboard import sandbox
from musebot_site.dashboard.http import number

OPERATOR = Person(id=0, username="operator", display_name="Operator")
SANDBOX_ROW = GuildRow(sandbox.GUILD_ID, "Sandbox", "sandbox", False, 0)


def has_model() -> bool:
    """Whether a language model is configured."""
    model = get_config().chat.model
    return model is not None and model.provider != "local"


@dataclass(frozen=True, slots=True)
class Setup:
    """Where and as whom is asked."""

    guild: GuildRow
    channel: Channel | None = None
    asker: Member | None = None
    choices: tuple[GuildRow, ...] = ()
    channels: tuple[Channel, ...] = ()
    askers: tuple[Member, ...] = field(default=())

    @property
    def is_sandbox(self) -> bool:
        return self.guild.kind == "sandbox"


def setup(values: QueryDict, *, chosen: int | None, servers: frozenset[int] | None = None) -> Setup:
    """Out of an address or a form; what is not known falls back to the whole server and the operator.

    ``servers`` are Discord's ids of those that may be asked about, None for all of them and the sandbox. Raises ``NotFound`` if
    there is none of them.
    """
    rows = [row for row in selectors.guilds() if row.kind != "sandbox"]
    if servers is not None:
        rows = [row for row in rows if row.id in servers]
        if not rows:
            raise NotFound("There is no server that this account may ask about.")
    choices = (SANDBOX_ROW, *rows) if servers is None else tuple(rows)
    wanted = number(values.get("guild", "")) or chosen
    fallback = next(
        (row for row in rows if row.is_sample), next((row for row in rows if row.message_count), choices[0])
    )
    guild = next((row for row in choices if row.id == wanted), fallback)
    if guild.kind == "sandbox":
        return Setup(guild, choices=choices)
    channels = tuple(selectors.channels(guild.id))
    askers = tuple(selectors.member_suggestions(guild.id))
    channel_id, asker_id = number(values.get("channel", "")), number(values.get("asker", ""))
    return Setup(
        guild,
        next((row for row in channels if row.discord_id == channel_id), None),
        next((row for row in askers if row.user_id == asker_id), None),
        choices,
        channels,
        askers,
    )


@dataclass(slots=True)
class Turn:
    """One question in the making; ``history`` is the conversation with this turn at its end once it is done."""

    setup: Setup
    question: str
    history: tuple[Utterance, ...]
    result: TurnResult | None = None

    def events(self) -> Iterator[TurnEvent]:
        """Pieces, then the result. In the sandbox question and answer are remembered; elsewhere nothing is stored."""
        question_id = sandbox.new_id() if self.setup.is_sandbox else None
        question_key = None
        if question_id is not None:
            question_key = sandbox.remember_question(self.question, message_id=question_id)
        for event in chat.run_turn(self._request(question_id)):
            if isinstance(event, TurnDelta):
                yield event
                continue
            self.result, answer_id = event, None
            if question_id is not None:
                answer_id = sandbox.remember_answer(event, question_key=question_key, question_id=question_id)
            self._keep(event, question_id, answer_id)
            yield event

    def _request(self, question_id: int | None) -> TurnRequest:
        if question_id is not None:
            return TurnRequest(
                question=self.question,
                asker=sandbox.YOU,
                guild=sandbox.GUILD,
                channel=sandbox.CHANNEL,
                message_id=question_id,
                # Without a model nobody reads the conversation, and what stands in it would be left out of the recall.
                history=self.history if has_model() else (),
                operator=True,
            )
        guild, channel, asker = self.setup.guild, self.setup.channel, self.setup.asker
        return TurnRequest(
            question=self.question,
            asker=Person(id=asker.user_id, username=asker.username, display_name=asker.display_name)
            if asker
            else OPERATOR,
            guild=GuildInfo(id=guild.id, name=guild.name),
            channel=_channel_info(channel) if channel else None,
            history=self.history,
            operator=True,
        )

    def _keep(self, result: TurnResult, question_id: int | None, answer_id: int | None) -> None:
        asker = sandbox.YOU if self.setup.is_sandbox else None
        name = asker.display_name if asker else str(self.setup.asker or OPERATOR.display_name)
        said: list[Utterance] = [Utterance("user", name, self.question, question_id)]
        if result.kind != "error":
            said.append(Utterance("assistant", "Musebot", result.text, answer_id))
        self.history = (*self.history, *said)


def _channel_info(row: Channel) -> ChannelInfo:
    parent = _channel_info(row.parent) if row.parent else None
    return ChannelInfo(id=row.discord_id, name=row.name, kind=row.kind, topic=row.topic, parent=parent)


def suggestions(setup: Setup) -> list[dict[str, str]]:
    """Questions to begin with, as ``{text}``."""
    if setup.is_sandbox:
        return [
            {"text": "My bike is called Clementine, and I am allergic to hazelnuts."},
            {"text": "What is my bike called?"},
            {"text": "What should you leave out when you bake for me?"},
        ]
    if not setup.guild.is_sample:
        return []
    from memory import demo

    return [{"text": question.text} for question in demo.questions()][:4]
