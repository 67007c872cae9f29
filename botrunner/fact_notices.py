"""What ``/memory facts`` and ``/memory fact forget`` do and say. Plain functions that run on a thread of the bridge."""

from __future__ import annotations

from memory import facts
from memory.models import Member

CHOICES = 25
CHOICE_LENGTH = 100
"""Discord's limits for suggestions."""
LINE_LENGTH = 300


def list_facts(*, user_id: int) -> str:
    """A member's own facts, oldest first. Only the member sees the answer."""
    if not Member.objects.filter(user_id=user_id, withdrawn_at=None).exists():
        return "You have not opted in, so I keep no facts about you. `/memory remember` changes that."
    found = facts.memory_facts(user_id)
    if not found:
        return "I keep no facts about you."
    lines = [f"**What I know about you** ({len(found)}):"]
    for fact in found:
        until = f" (until <t:{int(fact.expires_at.timestamp())}:D>)" if fact.expires_at else ""
        lines.append(f"- {plain(fact.text)}{until}")
    lines.append("`/memory fact forget` takes one out, `/memory forget` erases everything of yours.")
    return "\n".join(lines)


def forget_fact(*, user_id: int, fact: str) -> str:
    """Forgets one of a member's own facts, by its number (what a suggestion sends) or by its words."""
    number = fact.strip()
    if number.isascii() and number.isdecimal() and len(number) < 19:
        own = {one.id for one in facts.memory_facts(user_id)}
        if int(number) in own and facts.forget_by_id(user_id, int(number)):
            return "Forgotten."
    if facts.forget(user_id, fact):
        return "Forgotten."
    return "I know no such fact about you. `/memory facts` lists them."


def suggestions(*, user_id: int, typed: str) -> list[tuple[str, str]]:
    """(as shown, as sent) of the facts that hold what was typed so far, newest first."""
    wanted = typed.casefold().strip()
    found = [fact for fact in reversed(facts.memory_facts(user_id)) if wanted in fact.text.casefold()]
    return [(_short(fact.text), str(fact.id)) for fact in found[:CHOICES]]


def plain(text: str) -> str:
    """A fact on one line that mentions nobody and formats nothing."""
    escaped = "".join(f"\\{char}" if char in r"\*_~`|>[]()#" else char for char in " ".join(text.split()))
    return escaped.replace("@", "@\u200b").replace("<", "\\<")[:LINE_LENGTH]


def _short(text: str) -> str:
    return text if len(text) <= CHOICE_LENGTH else text[: CHOICE_LENGTH - 1] + "…"
