"""What the ``/memory`` commands do and say. Plain functions that run on a thread of the bridge."""

from __future__ import annotations

import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from botrunner import histories
from memory import consent, erasure, facts
from memory.capture import remember_guild
from memory.conf import get_config
from memory.errors import Conflict
from memory.models import ErasureRequest, Member, Message
from memory.types import GuildInfo, Person

MEMORY_OFF = "Long-term memory is switched off for this bot: nothing you write is remembered."
ERASING_SECONDS = 600.0
"""An interaction can be answered for 15 minutes; an erasure that takes longer goes on in the background."""
WAITING_SECONDS = 60.0
"""How long somebody waits for the last step of an erasure before they are told that it goes on without them."""


def remember(*, person: Person, guild: GuildInfo, histories_of: Sequence[GuildInfo] = ()) -> str:
    """Opts a person in and says what that means; what they wrote before is read on the servers that are named."""
    if not get_config().memory_enabled:
        return MEMORY_OFF
    remember_guild(guild)
    try:
        member, new = consent.give(person=person, origin="discord", guild=guild)
    except Conflict as error:
        return error.message
    reads = histories.begin(user_id=person.id, guilds=histories_of)
    if not new:
        since = f"<t:{int(member.consented_at.timestamp())}:D>"
        text = f"You have already opted in (since {since}). `/memory status` shows what is stored, `/memory forget` erases it."
        return f"{text} Your history is being read." if reads else text
    return "\n".join(
        [
            "**Thank you. From now on I remember what you write.**",
            "- **Stored:** your messages in channels that I can see, on every server that you share with me: the text, when and "
            "where it was written, your name, display name and roles, whom you mention, names and addresses of attachments, "
            "what pages that you link to say and what your images show; and my answers to you. What you wrote before is read from the channels' history.",
            "- **Used:** to answer questions, on the server where it was written and where people could read it anyway. What "
            "you write to me in private is used in private only.",
            "- **For how long:** until you erase it with `/memory forget`, or, on a server that you or I have left, until its "
            "time to keep is over. Editing or deleting a message changes or removes it here too.",
            f"- **Where:** {_where()}",
        ]
    )


def _where() -> str:
    config = get_config()
    hosts = []
    embedding, model = config.memory.embedding_model, config.chat.model
    if embedding is not None and embedding.provider == "openai":
        address = config.openai.embedding_base_url or config.openai.base_url
        hosts.append(f"{_host(address)} (everything you write, to make it searchable)")
    if model is not None and model.provider == "openai":
        hosts.append(f"{_host(config.openai.base_url)} (questions to me, and what I recall for them)")
    vision, extraction = config.memory.vision_model, config.facts.auto_extract
    if vision is not None and vision.provider == "openai":
        hosts.append(f"{_host(config.openai.base_url)} (images, to describe them)")
    if extraction and extraction.model is not None and extraction.model.provider == "openai":
        hosts.append(f"{_host(config.openai.base_url)} (questions to me, to find facts about you)")
    links = "Pages that you link to are opened to read them."
    if not hosts:
        return (
            "on the computer that this bot runs on and the model servers of whoever runs it; nothing goes to anybody else. "
            + links
        )
    return f"on the computer that this bot runs on. It also goes to {' and '.join(hosts)}. {links}"


def _host(address: str) -> str:
    return urlsplit(address).hostname or address


def forget(*, user_id: int) -> str:
    """Withdraws a person's consent, erases everything of theirs, and says what went."""
    request = _erase(erasure.request(user_id=user_id, origin=ErasureRequest.Origin.MEMBER))
    if request.state == ErasureRequest.State.DONE:
        counts = {name: count for name, count in request.counts.items() if isinstance(count, int) and count}
        if not counts:
            return "Nothing of yours was stored, and nothing will be."
        gone = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(counts.items()))
        return (
            f"Everything of yours has been erased, and it was checked that nothing is left: {gone}. Nothing you write is "
            f"stored from now on.\nReceipt: `{request.id}`"
        )
    if request.state == ErasureRequest.State.FAILED:
        return (
            "Your consent is withdrawn and nothing of yours is used any more, but the erasure ran into a problem. It is tried "
            f"again; whoever runs this bot can see it.\nReceipt: `{request.id}`"
        )
    return (
        "Your consent is withdrawn and nothing of yours is used any more. The erasure goes on in the background until nothing "
        f"is left in any file either.\nReceipt: `{request.id}`"
    )


def _erase(request: ErasureRequest) -> ErasureRequest:
    """Goes on until it is done. Somebody who is reading the database at that moment may hold up its last step."""
    deadline = time.monotonic() + WAITING_SECONDS
    while True:
        request = erasure.run(request.id, seconds=ERASING_SECONDS)
        if (
            request.state in (ErasureRequest.State.DONE, ErasureRequest.State.FAILED)
            or time.monotonic() > deadline
        ):
            return request
        time.sleep(1)


def status(*, user_id: int) -> str:
    """What is stored of a person."""
    member = Member.objects.filter(user_id=user_id).first()
    if member is None:
        if not get_config().memory_enabled:
            return MEMORY_OFF
        return "You have not opted in, so nothing of yours is stored. `/memory remember` changes that."
    if member.withdrawn_at is not None:
        return "What was stored of you is being erased; nothing of it is used any more."
    pending = Message.objects.filter(member=member, embedding=Message.Embedding.PENDING).count()
    failed = Message.objects.filter(member=member, embedding=Message.Embedding.FAILED).count()
    lines = [
        f"You opted in on <t:{int(member.consented_at.timestamp())}:D>.",
        f"- Memories: {member.message_count}",
        f"- Facts: {len(facts.memory(user_id))}",
    ]
    if member.last_message_at is not None:
        lines.append(f"- The latest is of <t:{int(member.last_message_at.timestamp())}:f>.")
    if pending:
        lines.append(f"- Waiting to be made searchable: {pending}")
    if failed:
        lines.append(f"- Could not be made searchable: {failed}")
    if member.paused_at is not None:
        lines.append("- Paused: nothing new is stored at the moment.")
    if not get_config().memory_enabled:
        lines.append(f"- {MEMORY_OFF}")
    if history := histories.how_far(user_id)[1]:
        lines.append(history)
    lines.append("`/memory forget` erases all of it.")
    return "\n".join(lines)
