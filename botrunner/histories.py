"""What members are told of the reading of their histories. Plain functions that run on a thread of the bridge."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta

from memory.capture import backfill
from memory.capture.backfill import MemberProgress, ScanProgress
from memory.models import Guild, Scan
from memory.types import GuildInfo

UNFINISHED = {"gathering", "listing", "running", "paused"}
SKIPPED = {
    "already_stored": "stored before",
    "empty": "without text",
    "system": "notices of Discord",
    "other_bot": "of other bots",
    "no_trigger": "answers of mine to nobody known",
    "too_old": "older than the server keeps",
    "error_message": "apologies of mine",
    "deleted": "deleted meanwhile",
    "erased": "erased before, at their author's wish",
}


def left_guilds(here: Collection[int]) -> list[int]:
    """Servers that the bot is on no more, as far as ``here`` tells where it is."""
    known = Guild.objects.filter(kind=Guild.Kind.GUILD, left_at=None, is_sample=False)
    return [one for one in known.values_list("discord_id", flat=True) if one not in here]


def begin(*, user_id: int, guilds: Sequence[GuildInfo]) -> bool:
    """Lets a member's history be read; False if there is nothing to read, or it was read already."""
    return bool(backfill.request(user_id=user_id, guilds=guilds))


def how_far(user_id: int) -> tuple[bool, str]:
    """Whether everything that a member waits for has ended, and how it stands."""
    found = backfill.member_progress(user_id)
    return all(one.scan.state not in UNFINISHED for one in found), "\n".join(map(_line, found))


def results(exclude: Collection[int]) -> dict[int, str]:
    """By member who is still to be told, what was found."""
    return {
        user_id: "\n".join(["Your history has been read.", *map(_line, found)])
        for user_id, found in backfill.untold(exclude=exclude).items()
        if found
    }


def _line(one: MemberProgress) -> str:
    scan = one.scan
    name = scan.guild or "here"
    if scan.state == Scan.State.DONE:
        text = f"- **{name}**: history read, {one.stored:,} of your messages and my answers to you stored"
        return f"{text}; {_unreadable(scan)}." if scan.unreadable else f"{text}."
    if scan.state == Scan.State.CANCELLED:
        return f"- **{name}**: reading was cancelled; {one.stored:,} messages stored. `/memory remember` begins again."
    if scan.state == Scan.State.FAILED:
        return f"- **{name}**: reading failed ({scan.error_code}). `/memory remember` begins again."
    if scan.state == Scan.State.GATHERING:
        return f"- **{name}**: reading of your history begins within a minute."
    if scan.state == Scan.State.PAUSED:
        return f"- **{name}**: reading is paused by whoever runs this bot; {one.stored:,} messages stored so far."
    parts = [f"- **{name}**: {scan.stage}, {scan.scanned:,} messages read, {one.stored:,} of yours stored"]
    if scan.rate:
        parts.append(f"{scan.rate:,.0f} a second")
    if scan.seconds_left is not None:
        parts.append(f"about {_duration(scan.seconds_left)} left")
    if skipped := _skipped(scan):
        parts.append(f"left out: {skipped}")
    return "; ".join(parts) + "."


def _unreadable(scan: ScanProgress) -> str:
    return f"{scan.unreadable} channel{'s' if scan.unreadable != 1 else ''} I may not read"


def _skipped(scan: ScanProgress) -> str:
    found = [(reason, scan.skipped[reason]) for reason in SKIPPED if scan.skipped.get(reason)]
    return ", ".join(f"{count:,} {SKIPPED[reason]}" for reason, count in found)


def _duration(seconds: float) -> str:
    whole = timedelta(seconds=round(seconds))
    minutes = whole.total_seconds() / 60
    if minutes < 1:
        return "a minute"
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.0f} hours"
