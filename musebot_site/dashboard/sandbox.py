"""The sandbox: a place of one's own in which everything is remembered as on a server, and can be erased."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

from django.db import transaction

from memory import capture, chat, consent, erasure
from memory.models import ErasureRequest, Guild, Member
from memory.types import ChannelInfo, GuildInfo, IncomingMessage, Person, TurnResult

GUILD_ID = CHANNEL_ID = USER_ID = 1
"""No id of Discord's is this small."""
BOT_ID = 2
GUILD = GuildInfo(id=GUILD_ID, name="Sandbox")
CHANNEL = ChannelInfo(id=CHANNEL_ID, name="sandbox")
YOU = Person(id=USER_ID, username="you", display_name="You")
BOT = Person(id=BOT_ID, username="musebot", display_name="Musebot", is_bot=True)
DISCORD_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)


def is_started() -> bool:
    return Member.objects.filter(user_id=USER_ID, withdrawn_at=None).exists()


def start() -> None:
    """Records the consent of whoever presses the button, for the sandbox alone.

    Raises ``MemoryDisabled``, and ``Conflict`` while the sandbox is being erased.
    """
    with transaction.atomic():
        Guild.objects.update_or_create(
            discord_id=GUILD_ID, defaults={"kind": Guild.Kind.SANDBOX, "name": GUILD.name}
        )
        consent.give(person=YOU, origin="sandbox", guild=GUILD)


def erase(*, seconds: float) -> ErasureRequest:
    """Forgets everything in it, as for any member, and the consent with it."""
    asked = erasure.request(user_id=USER_ID, origin="admin")
    return erasure.run(asked.id, seconds=seconds)


def new_id() -> int:
    """An id made as Discord makes them: the time, and something that tells two apart."""
    passed = datetime.now(UTC) - DISCORD_EPOCH
    return (int(passed.total_seconds() * 1000) << 22) | secrets.randbits(22)


def remember_question(text: str, *, message_id: int) -> int | None:
    """Stores what was asked, as capture does on Discord; returns its key."""
    return capture.record_message(_message(YOU, text, message_id), source="playground")


def remember_answer(result: TurnResult, *, question_key: int | None, question_id: int) -> int | None:
    """Stores the answer and ties both to the trace; returns the answer's message id, None if it was not stored."""
    answer_id, answer_key = new_id(), None
    if result.kind == "model":
        reply = _message(BOT, result.kept, answer_id, reply_to=question_id)
        answer_key = capture.record_reply(reply, owner_id=USER_ID, source="playground")
    state = "failed" if result.kind == "error" else "done"
    chat.finish(result.trace_id, question_key=question_key, answer_key=answer_key, state=state)
    return answer_id if answer_key is not None else None


def _message(author: Person, text: str, message_id: int, reply_to: int | None = None) -> IncomingMessage:
    return IncomingMessage(
        id=message_id,
        guild=GUILD,
        channel=CHANNEL,
        author=author,
        text=text,
        sent_at=datetime.now(UTC),
        reply_to=reply_to,
    )
