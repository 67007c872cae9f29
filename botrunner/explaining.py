"""What *Why this answer?* says: to moderators of the place, and to the person who asked. Runs on a thread of the bridge."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import discord

from memory import audit
from memory.chat import why
from memory.chat.quoting import one_line
from memory.chat.why import Explanation, Leaning
from memory.conf import get_config
from memory.models import Channel

NOT_MINE = "This is not one of my answers, so there is nothing to explain."
A_COMMAND = "This is what a command showed; nothing was recalled for it."
NOT_FOR_YOU = "Only the person who asked, and those who moderate this channel, can see why I said this."
NO_TRACE = "I do not know any more why I said this: it was erased with what it leaned on, or was no answer to a question."
MOST_LINES = 8
TEXT_LIMIT = 160
LABEL_LIMIT = 80


@dataclass(frozen=True, slots=True)
class Asked:
    """Who wants to know, about which message, and what Discord says of them."""

    viewer_id: int
    guild_id: int | None
    parts: tuple[int, ...]
    """Ids of the messages that may be parts of the reply, the first one last."""
    question_id: int | None
    """The message that was answered, if Discord says."""
    questioner_id: int | None
    """Who wrote it, if Discord says."""
    moderates: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A channel that a memory is from, as far as it decides who can read it."""

    channel_id: int
    parent_id: int | None
    private: bool
    """A private thread: who is in it is not known from its parent."""


def explain(asked: Asked, may_read: Callable[[Place], bool]) -> str:
    """The answer; it is recorded in the audit before it is returned.

    ``may_read`` tells of a channel whether Discord lets the viewer read back there; what it does not is counted, not shown.
    """
    trace_id = why.find_reply(asked.parts, asked.question_id)
    found = why.explain(trace_id) if trace_id is not None else None
    questioner = asked.questioner_id or (found.reply.asker_id if found is not None else None)
    own = questioner is not None and questioner == asked.viewer_id
    if not (own or asked.moderates):
        _record(asked, trace_id, "denied")
        return NOT_FOR_YOU
    if found is None:
        return NO_TRACE
    _record(asked, trace_id, "ok")
    return _text(found, asked, own=own, may_read=may_read)


def _record(asked: Asked, trace_id: uuid.UUID | None, result: str) -> None:
    audit.record(
        actor=audit.member(asked.viewer_id),
        action="reply.viewed",
        kind="reply",
        object_id=str(trace_id or ""),
        guild=asked.guild_id,
        result=result,
    )


def _text(found: Explanation, asked: Asked, *, own: bool, may_read: Callable[[Place], bool]) -> str:
    reply = found.reply
    readable = _readable({one.channel_id for one in found.used}, may_read)
    shown = [one for one in found.used if one.channel_id in readable or one.owner_id == asked.viewer_id]
    lines = ["**Why this answer?**"]
    if not found.used:
        lines.append(found.why_no_memory)
    else:
        lines += found.notes
        lines.append(f"It leaned on {_many(len(found.used), 'memory', 'memories')}:")
        lines += [_memory(number, one) for number, one in enumerate(shown[:MOST_LINES], 1)]
        if (more := len(shown[MOST_LINES:])) > 0:
            lines.append(f"- and {more} more")
        if hidden := len(found.used) - len(shown):
            lines.append(f"- {_many(hidden, 'memory', 'memories')} from places that you cannot read")
    lines += _about_asker(found, theirs=own and reply.asker_id == asked.viewer_id)
    lines += [
        f"- {'Cited' if one.cited else 'Read'} [{one.n}] {safe(one.citation, LABEL_LIMIT)}"
        for one in found.passages[:MOST_LINES]
    ]
    if found.counts_left_out:
        reasons = ", ".join(f"{many} {reason}" for reason, many in found.counts_left_out.items())
        lines.append(f"Left out: {reasons}.")
    lines.append(_how(found))
    if asked.moderates and (link := dashboard_link(reply.id)):
        lines.append(f"[Correct or erase what misled it, in the dashboard](<{link}>)")
    elif own:
        lines.append("`/memory facts` and `/memory status` show what I keep of you.")
    return "\n".join(line for line in lines if line)


def _memory(number: int, one: Leaning) -> str:
    spoke = ", ".join((*((f"{one.strength} match",) if one.strength else ()), *one.reasons))
    where = f"[message]({one.jump})" if one.jump else safe(one.channel_name, LABEL_LIMIT)
    author = safe(one.author_name, LABEL_LIMIT) or "somebody"
    said = (
        f"{number}. **{author}**, <t:{int(one.sent_at.timestamp())}:d>, {where}: {safe(one.text, TEXT_LIMIT)}"
    )
    return f"{said} ({spoke})" if spoke else said


def _about_asker(found: Explanation, *, theirs: bool) -> Sequence[str]:
    """Facts and notes of the one who asked: their words for themselves, their number for others."""
    lines = []
    if found.facts:
        lines.append(
            f"- {_many(len(found.facts), 'fact', 'facts')} about {'you' if theirs else 'who asked'}"
            + ("" if not theirs else ": " + "; ".join(safe(one.text, TEXT_LIMIT) for one in found.facts[:5]))
        )
    if labels := list(dict.fromkeys(one.label.replace("_", " ") for one in found.blocks)):
        lines.append(f"- My notes: {', '.join(labels)}")
    return lines


def _how(found: Explanation) -> str:
    reply = found.reply
    took = reply.timings.get("total") if isinstance(reply.timings, dict) else None
    model = (
        "No language model was connected" if reply.kind == "extractive" else safe(reply.model, LABEL_LIMIT)
    )
    seconds = f"{took / 1000:.1f} s" if isinstance(took, int | float) else ""
    return " · ".join(part for part in (f"-# {model or 'No model'}", seconds) if part)


def _readable(channel_ids: Collection[int], may_read: Callable[[Place], bool]) -> set[int]:
    rows = Channel.objects.filter(discord_id__in=list(channel_ids))
    places = [
        Place(channel_id, parent_id, kind == "private_thread")
        for channel_id, parent_id, kind in rows.values_list("discord_id", "parent_id", "kind")
    ]
    return {place.channel_id for place in places if may_read(place)}


def dashboard_link(trace_id: uuid.UUID) -> str:
    """Where the reply stands in the dashboard; empty where the configuration does not say how people reach it."""
    base = get_config().public_url
    return f"{base}/replies/{trace_id}/" if base else ""


def safe(text: str, limit: int) -> str:
    """Words of other people on one line: nothing in them is formatted, mentions anybody or can be pressed."""
    plain = discord.utils.escape_markdown(one_line(text, limit))
    return discord.utils.escape_mentions(plain).replace("://", "∶⁄⁄").replace("](", "]\u200b(")


def _many(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"
