"""What members do with facts about themselves."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from memory.errors import Conflict, ConsentMissing, InvalidInput, NotFound
from memory.facts import screening, services, storing
from memory.facts.text import clean, digest
from memory.models import Fact

State = Fact.State


def correct(*, user_id: int, fact_id: int, text: str, before: str) -> Fact:
    """A member's own words in place of a fact about them; the old ones stay in its history.

    It counts as said by the member from then on. Words that read like an instruction wait for an admin. Raises ``NotFound`` for
    what is not a fact about them, ``ConsentMissing`` while they are being erased, ``Conflict`` if it changed since ``before`` or
    another fact says the same, ``InvalidInput`` for what may not be stored.
    """
    verdict = screening.screen_manual(text)
    if verdict.action == "refuse":
        raise InvalidInput(services.refusal(verdict.reason), field="text", reason=verdict.reason)
    with transaction.atomic():
        fact = _own(user_id, fact_id)
        if fact.text != before:
            raise Conflict("This fact changed in the meantime. Look at it again.")
        words, key = clean(text), digest(text)
        if words == fact.text:
            return fact
        same = Fact.objects.filter(
            member_id=user_id, namespace=fact.namespace, state=State.ACTIVE, normal=key
        ).exclude(id=fact.id)
        if same.exists():
            raise Conflict("Another fact about you says the same. Forget one of the two instead.")
        fact.text, fact.normal, fact.updated_at = words, key, timezone.now()
        fact.trust, fact.source = Fact.Trust.MEMBER, Fact.Source.MANUAL
        if verdict.action == "quarantine":
            fact.state, fact.reason = State.QUARANTINED, verdict.reason
        fact.save()
        storing.note(fact, "edited", "member")
        return fact


def _own(user_id: int, fact_id: int) -> Fact:
    fact = Fact.objects.select_related("member").filter(id=fact_id, member_id=user_id).first()
    if fact is None or fact.state not in {State.ACTIVE, State.QUARANTINED}:
        raise NotFound("There is no such fact about you any more.")
    if fact.member.withdrawn_at is not None:
        raise ConsentMissing("What is stored of you is being erased.")
    return fact
