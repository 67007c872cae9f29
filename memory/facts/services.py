"""What a program can do with facts: remember, forget, list. They work whether or not facts are injected and extracted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, overload

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from memory.conf import get_config, parse_duration
from memory.errors import ConsentMissing, InvalidInput
from memory.facts import screening, storing
from memory.facts.screening import REASONS
from memory.facts.text import digest
from memory.models import Fact, FactBook, Member, OutboxEntry
from memory.models.locks import locked

EXTRACT = "extract"
"""Kind of work; the subject is the key of the message to read."""
MOST_AT_ONCE = 500

FactSource = Literal["auto", "manual"]


@dataclass(frozen=True, slots=True)
class FactInfo:
    """A live fact as callers see it."""

    id: int
    text: str
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    source: str


def remember(
    user_id: int,
    facts: str | Iterable[str],
    *,
    ttl: Any = None,
    source: FactSource = "manual",
    trust: int = Fact.Trust.OPERATOR,
    trusted: bool = False,
    namespace: str | None = None,
) -> list[str]:
    """Stores facts about a member; returns those that were new. One that is known (whatever its case and punctuation) is renewed.

    ``ttl`` is a duration (``"30d"``, milliseconds) instead of the configured one. What is written by hand and cannot be stored
    raises ``InvalidInput``, and nothing is stored; with ``source="auto"`` it is left out. Text that reads like an instruction waits
    in quarantine unless ``trusted``. Raises ``ConsentMissing`` for somebody who has not opted in.
    """
    if source not in Fact.Source.values:
        raise InvalidInput("The source of a fact is auto or manual.", field="source")
    given = [facts] if isinstance(facts, str) else list(facts)
    if len(given) > MOST_AT_ONCE or not all(isinstance(one, str) for one in given):
        raise InvalidInput(f"Facts are texts, at most {MOST_AT_ONCE} at once.", field="facts")
    now, lifetime = timezone.now(), _lifetime(ttl)
    manual = source == "manual"
    candidates = []
    for position, text in enumerate(given):
        verdict = screening.screen_manual(text, trusted=trusted) if manual else screening.screen_unseen(text)
        if verdict.action == "refuse":
            if manual:
                raise InvalidInput(
                    refusal(verdict.reason), field="facts", index=position, reason=verdict.reason
                )
            continue
        candidates.append(
            storing.Candidate(
                text=text,
                source=source,
                trust=trust if manual else Fact.Trust.MODEL,
                actor=("member" if trust == Fact.Trust.MEMBER else "operator") if manual else "model",
                said_at=now,
                lifetime=lifetime,
                waits=verdict.reason,
            )
        )
    with transaction.atomic():
        member = _member(user_id)
        return [fact.text for fact in storing.store(member, namespace or _namespace(), candidates)]


@overload
def forget(user_id: int, fact: str, *, namespace: str | None = None) -> bool: ...
@overload
def forget(user_id: int, fact: None = None, *, namespace: str | None = None) -> int: ...
def forget(user_id: int, fact: str | None = None, *, namespace: str | None = None) -> bool | int:
    """Forgets one fact (True if it existed), or everything (how many live facts there were).

    Forgetting everything also ends the extractions that are under way: what they find is dropped.
    """
    rows = Fact.objects.filter(member_id=user_id, namespace=namespace or _namespace())
    with transaction.atomic():
        # What is being stored for the member is there before this looks, or finds that it is too late.
        locked(Member.objects.filter(user_id=user_id)).first()
        if fact is not None:
            return storing.delete(rows.filter(normal=digest(fact)).exclude(state=Fact.State.EXPIRED)) > 0
        live = rows.filter(state=Fact.State.ACTIVE).count()
        storing.delete(rows)
        begin_anew(user_id)
    return live


def forget_by_id(user_id: int, fact_id: int) -> bool:
    """The same for a fact by its number, in any state."""
    with transaction.atomic():
        return storing.delete(Fact.objects.filter(member_id=user_id, id=fact_id)) > 0


def begin_anew(user_id: int) -> None:
    """Ends extractions that are queued or running, in the caller's transaction."""
    OutboxEntry.objects.filter(kind=EXTRACT, user_id=user_id).delete()
    if Member.objects.filter(user_id=user_id).exists():
        FactBook.objects.get_or_create(member_id=user_id)
        FactBook.objects.filter(member_id=user_id).update(forgotten=F("forgotten") + 1)


def times_forgotten(user_id: int) -> int:
    return FactBook.objects.filter(member_id=user_id).values_list("forgotten", flat=True).first() or 0


def memory(user_id: int, *, namespace: str | None = None) -> list[str]:
    """The live facts of a member, oldest first; nothing for somebody who has not opted in."""
    return [fact.text for fact in live(user_id, namespace=namespace)]


def memory_facts(user_id: int, *, namespace: str | None = None) -> list[FactInfo]:
    """The same with their numbers, times and source."""
    return [
        FactInfo(fact.id, fact.text, fact.created_at, fact.updated_at, fact.expires_at, fact.source)
        for fact in live(user_id, namespace=namespace)
    ]


def live(user_id: int, *, namespace: str | None = None) -> list[Fact]:
    """Rows of the live facts, oldest first. What has expired meanwhile is emptied on the way."""
    storing.purge_expired(member_id=user_id)
    rows = Fact.objects.filter(
        member_id=user_id,
        member__withdrawn_at=None,
        namespace=namespace or _namespace(),
        state=Fact.State.ACTIVE,
    ).exclude(expires_at__lte=timezone.now())
    return list(rows.order_by("created_at", "id"))


def _member(user_id: int) -> Member:
    """The gate inside the transaction that writes. It does not ask whether long-term memory is on: facts work without it."""
    row = locked(Member.objects.filter(user_id=user_id, paused_at=None, withdrawn_at=None)).first()
    if row is None:
        raise ConsentMissing()
    return row


def _lifetime(ttl: Any) -> timedelta | None:
    if ttl is None:
        return get_config().facts.ttl
    try:
        return parse_duration(ttl)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"The ttl cannot be used: {error}.", field="ttl") from None


def _namespace() -> str:
    return get_config().facts.namespace


def refusal(reason: str) -> str:
    """Why something is not stored, as a sentence."""
    limit = get_config().facts.max_fact_length
    if reason == "too_long":
        return f"A fact has at most {limit} characters; shorten it."
    return f"This is not stored as a fact: {REASONS.get(reason, reason)}."
