"""Changes of the persona that wait for an admin."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from memory import consent
from memory.blocks import reading, writing
from memory.blocks.errors import Empty, OverLimit
from memory.blocks.text import normal
from memory.blocks.types import Actor, Block, BlockRef, Place, Written, persona
from memory.errors import Conflict, NotFound
from memory.models import Guild, PersonaProposal, Scope

MOST_OPEN = 50


def propose_persona(place: Place, value: str, *, reason: str = "") -> PersonaProposal | None:
    """Notes what somebody wants the persona to be; it changes nothing. None where it says what is so already, or too many wait.

    On a server it is about that server's persona, in private about that of the installation. A member has one open proposal.
    """
    text = normal(value).strip()
    if not text:
        raise Empty()
    guild = Guild.objects.filter(discord_id=place.guild_id, kind=Guild.Kind.GUILD).first()
    target = persona(guild.discord_id if guild and not place.private else None)
    current = reading.get(target)
    if len(text) > current.limit:
        raise OverLimit.of(len(text), current.limit)
    with transaction.atomic():
        consent.require(place.consent)
        waiting = PersonaProposal.objects.filter(state=PersonaProposal.State.OPEN)
        waiting.filter(member_id=place.user_id, scope=target.scope, scope_key=target.key).delete()
        if text == current.value or waiting.count() >= MOST_OPEN:
            return None
        return PersonaProposal.objects.create(
            scope=target.scope,
            scope_key=target.key,
            member_id=place.user_id,
            value=text,
            reason=normal(reason)[:300],
            base_version=current.version,
        )


def find(proposal_id: int) -> PersonaProposal | None:
    return PersonaProposal.objects.filter(pk=proposal_id).first()


def ref_of(row: PersonaProposal) -> BlockRef:
    return persona(row.scope_key if row.scope == Scope.GUILD else None)


def approve(proposal_id: int, *, version: int, admin: int) -> Written:
    """Makes it the persona. Raises ``BlockConflict`` if that is not at the version that the admin saw."""
    with transaction.atomic():
        row = _open(proposal_id)
        actor = Actor("admin", admin, row.reason)
        written = writing.edit(ref_of(row), row.value, version=version, actor=actor, action="approve")
        _decide(row, PersonaProposal.State.APPROVED)
    return written


def reject(proposal_id: int) -> None:
    with transaction.atomic():
        _decide(_open(proposal_id), PersonaProposal.State.REJECTED)


def waiting() -> list[tuple[PersonaProposal, Block]]:
    """Open proposals, oldest first, with what the persona is now."""
    rows = PersonaProposal.objects.filter(state=PersonaProposal.State.OPEN, member__withdrawn_at=None)
    return [(row, reading.get(ref_of(row))) for row in rows.order_by("created_at", "pk")[:MOST_OPEN]]


def _open(proposal_id: int) -> PersonaProposal:
    row = PersonaProposal.objects.filter(pk=proposal_id).first()
    if row is None:
        raise NotFound("There is no such proposal; it may have been erased with the member who made it.")
    if row.state != PersonaProposal.State.OPEN:
        raise Conflict(f"This proposal was {row.state} already.")
    return row


def _decide(row: PersonaProposal, state: str) -> None:
    PersonaProposal.objects.filter(pk=row.pk).update(state=state, decided_at=timezone.now())
