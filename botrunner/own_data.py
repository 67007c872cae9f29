"""What ``/memory export`` and ``/memory undo`` do. Plain functions that run on a thread of the bridge."""

from __future__ import annotations

from memory import blocks, consent
from memory.errors import ConsentMissing, NotFound
from memory.export import member_json

MOST_BYTES = 8 << 20
"""Below what Discord takes as an attachment everywhere."""
NOT_A_MEMBER = "You have not opted in, so nothing of yours is stored."


def export(*, user_id: int) -> bytes | str:
    """Everything that is stored of a member, as JSON; words instead where there is nothing, or too much for Discord."""
    try:
        data = "".join(member_json(user_id)).encode()
    except NotFound:
        return NOT_A_MEMBER
    if len(data) > MOST_BYTES:
        return "It is too much for a message on Discord. Please ask whoever runs this bot for your export."
    return data


def undo(*, user_id: int, private: bool) -> str:
    """Takes back the last change to what the bot noted of a member: of what is used everywhere, or in private only."""
    given = consent.find(user_id)
    if given is None:
        return NOT_A_MEMBER
    actor = blocks.Actor("user", user_id, "undone by the member", consent=given)
    block = blocks.human(user_id, private=private)
    try:
        blocks.undo(block, actor=actor)
    except NotFound:
        return "There is nothing to undo: I have noted nothing about you here."
    except ConsentMissing:
        return NOT_A_MEMBER
    text = blocks.get(block).value.strip()
    return (
        f"Undone. What I have noted about you now:\n{text}"
        if text
        else "Undone. I have nothing noted about you now."
    )
