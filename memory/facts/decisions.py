"""What people decide about single facts: edit, merge, renew, let out of quarantine, settle a contradiction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from django.db import transaction
from django.utils import timezone

from memory.conf import get_config
from memory.errors import Conflict, ConsentMissing, InvalidInput, NotFound
from memory.facts import screening, services, storing
from memory.facts.text import clean, digest
from memory.models import Fact
from memory.models.locks import locked
from memory.snapshots import readable_channels

State = Fact.State
Choice = Literal["new", "old", "both"]


def add(*, user_id: int, text: str) -> bool:
    """Writes a fact by an operator who sees what they store; False if it was known and is renewed. Raises as ``remember``."""
    return bool(services.remember(user_id, text, trusted=True))


def edit(*, fact_id: int, text: str, before: str | None = None) -> Fact:
    """Gives a fact other words; the old ones stay in its history.

    Raises ``Conflict`` if somebody else changed it since ``before``, or if another live fact says the same; ``InvalidInput`` for
    what may not be stored.
    """
    verdict = screening.screen_manual(text, trusted=True)
    if verdict.action == "refuse":
        raise InvalidInput(services.refusal(verdict.reason), field="text", reason=verdict.reason)
    with transaction.atomic():
        fact = _find(fact_id, State.ACTIVE, State.QUARANTINED)
        if before is not None and fact.text != before:
            raise Conflict(
                "Somebody else changed this fact in the meantime. Look at it again.", text=fact.text
            )
        if clean(text) == fact.text:
            return fact
        key = digest(text)
        same = Fact.objects.filter(
            member_id=fact.member_id, namespace=fact.namespace, state=State.ACTIVE, normal=key
        ).exclude(id=fact.id)
        if fact.state == State.ACTIVE and same.exists():
            raise Conflict("Another fact of this member says the same. Merge the two instead.")
        fact.text, fact.normal, fact.updated_at = clean(text), key, timezone.now()
        fact.save()
        storing.note(fact, "edited", "operator")
        return fact


def renew(*, fact_id: int) -> Fact:
    """States a fact again, so that its time begins anew."""
    with transaction.atomic():
        fact = _find(fact_id, State.ACTIVE)
        now, ttl = timezone.now(), get_config().facts.ttl
        fact.said_at = fact.updated_at = now
        fact.expires_at = now + ttl if ttl else None
        fact.save()
        storing.note(fact, "renewed", "operator")
        return fact


def merge(*, keep_id: int, other_ids: Sequence[int], text: str = "") -> Fact:
    """Makes one fact of several of one member; the others become its history. Its trust is that of the least trusted."""
    with transaction.atomic():
        kept = _find(keep_id, State.ACTIVE)
        others = [
            _find(one, State.ACTIVE, State.QUARANTINED) for one in dict.fromkeys(other_ids) if one != keep_id
        ]
        if not others:
            raise InvalidInput("Choose two facts or more to merge.")
        if any((one.member_id, one.namespace) != (kept.member_id, kept.namespace) for one in others):
            raise InvalidInput("Facts of different members are never merged.")
        for one in others:
            storing.supersede(one, by=kept, actor="operator")
        everything = [kept, *others]
        kept.trust = min(one.trust for one in everything)
        narrow = _narrowest(everything)
        kept.audience = narrow.audience if narrow else Fact.Audience.PRIVATE
        if narrow is not None:
            on_server = narrow.audience == Fact.Audience.GUILD and narrow.evidence is not None
            kept.evidence = narrow.evidence if on_server else kept.evidence or narrow.evidence
            kept.guild = narrow.guild
        kept.said_at = max(one.said_at for one in everything)
        kept.updated_at = timezone.now()
        kept.save()
        storing.note(kept, "merged", "operator")
        return edit(fact_id=kept.id, text=text) if text.strip() else kept


def _narrowest(facts: Sequence[Fact]) -> Fact | None:
    """Of facts that become one, that whose readers may know all of them; None where only the member may.

    What was learned in private stays private, whatever it is merged with.
    """
    private = next((one for one in facts if one.audience == Fact.Audience.PRIVATE), None)
    learned = [one for one in facts if one.audience == Fact.Audience.GUILD]
    if private is not None or not learned:
        return private or facts[0]
    if len({one.guild_id for one in learned}) > 1:
        return None
    channels = {one.evidence.channel_id for one in learned if one.evidence is not None}
    for one in learned:
        if one.guild is None or one.evidence is None:
            continue
        here = one.evidence.channel_id
        seen = readable_channels(guild=one.guild, channel_id=here, asker_id=one.member_id)
        if seen.ids is None or channels <= seen.ids:
            return one
    return None if channels else learned[0]


def approve(*, fact_id: int) -> Fact:
    """Lets a fact out of quarantine. One that says what a live fact says renews that one instead."""
    with transaction.atomic():
        fact = _find(fact_id, State.QUARANTINED)
        same = Fact.objects.filter(
            member_id=fact.member_id, namespace=fact.namespace, state=State.ACTIVE, normal=fact.normal
        ).first()
        if same is not None:
            storing.supersede(fact, by=same, actor="operator")
            return renew(fact_id=same.id)
        fact.state, fact.reason, fact.rival, fact.updated_at = State.ACTIVE, "", None, timezone.now()
        fact.save()
        storing.note(fact, "approved", "operator")
        return fact


def settle(*, fact_id: int, choice: Choice) -> Fact:
    """Decides a contradiction: the new fact has the old one's place, is dropped, or both hold."""
    if choice not in {"new", "old", "both"}:
        raise InvalidInput(
            "A contradiction is settled for the new fact, the old one, or both.", field="choice"
        )
    with transaction.atomic():
        fact = _find(fact_id, State.QUARANTINED)
        rival = fact.rival
        if choice == "old":
            storing.delete(Fact.objects.filter(id=fact.id))
            return rival or fact
        approved = approve(fact_id=fact.id)
        if choice == "new" and rival is not None and rival.state == State.ACTIVE and rival.id != approved.id:
            storing.supersede(rival, by=approved, actor="operator")
        return approved


def _find(fact_id: int, *states: str) -> Fact:
    fact = locked(Fact.objects.select_related("rival", "member").filter(id=fact_id)).first()
    if fact is None:
        raise NotFound("There is no such fact any more.")
    if fact.member.withdrawn_at is not None:
        raise ConsentMissing()
    if fact.state not in states:
        raise Conflict(f"This fact is {fact.state} by now. Look at it again.", state=fact.state)
    return fact
