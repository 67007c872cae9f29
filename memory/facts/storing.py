"""Writing facts: duplicates renew, corrections supersede, what contradicts waits, the oldest go. All inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memory import outbox
from memory.conf import get_config
from memory.facts.attributes import relate
from memory.facts.text import clean, digest
from memory.models import Fact, FactVersion, Guild, Member, Message, ReplyFact

CLEAN_FILES = "clean_files"
"""Kind of work that takes the bytes of what was deleted out of the files."""
KEEP_EXPIRED = timedelta(days=30)
"""How long it stays visible that a fact has expired; its words are gone at once."""
MOST_WAITING = 50
"""Facts in quarantine of one member; the oldest go first."""
MOST_SUPERSEDED = 200

State = Fact.State


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact that passed the gate, on its way in."""

    text: str
    source: str
    trust: int
    actor: str
    said_at: datetime
    lifetime: timedelta | None = None
    evidence: Message | None = None
    audience: str = Fact.Audience.ANYWHERE
    guild: Guild | None = None
    correction: bool = False
    """Whether its message speaks of a change."""
    waits: str = ""
    """Why it goes to quarantine, or empty."""
    names: tuple[str, ...] = ()
    """How the member is called, for reading the fact."""

    @property
    def expires_at(self) -> datetime | None:
        return timezone.now() + self.lifetime if self.lifetime else None


@dataclass(slots=True)
class _Plan:
    renews: Fact | None = None
    covers: bool = False
    """The fact that is renewed says more than the new one."""
    supersedes: list[Fact] = field(default_factory=list)
    overtaken_by: Fact | None = None
    rival: Fact | None = None


def names_of(member: Member) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in (member.display_name, member.username) if name))


def store(member: Member, namespace: str, candidates: Sequence[Candidate]) -> list[Fact]:
    """Writes facts of one member; returns those that are new and active, in order."""
    if not connection.in_atomic_block:
        raise RuntimeError("Facts are written inside a transaction, after the consent was looked at again.")
    purge_expired(member_id=member.user_id)
    new: list[Fact] = []
    for candidate in candidates:
        fact = _store_one(member, namespace, candidate)
        if fact is not None and fact.state == State.ACTIVE:
            new.append(fact)
    dropped = _trim(member, namespace)
    later = set(
        Fact.objects.filter(id__in=[one.id for one in new], state=State.ACTIVE).values_list("id", flat=True)
    )
    return [fact for fact in new if fact.id in later and fact.id not in dropped]


def _store_one(member: Member, namespace: str, candidate: Candidate) -> Fact | None:
    key = digest(candidate.text)
    known = Fact.objects.filter(member=member, namespace=namespace)
    active = list(known.filter(state=State.ACTIVE).order_by("created_at", "id"))
    if candidate.waits:
        waiting = known.filter(state__in=[State.QUARANTINED, State.ACTIVE], normal=key)
        if waiting.exists():
            return None
        return _create(member, namespace, candidate, state=State.QUARANTINED, reason=candidate.waits)
    plan = _plan(candidate, key, active)
    if plan.renews is not None:
        renew(plan.renews, candidate, covers=plan.covers)
        return None
    # Said again without a doubt, a fact that waited does not wait any more.
    delete(known.filter(state=State.QUARANTINED, normal=key))
    if plan.overtaken_by is not None:
        return _create(member, namespace, candidate, state=State.SUPERSEDED, superseded_by=plan.overtaken_by)
    if plan.rival is not None:
        return _create(
            member, namespace, candidate, state=State.QUARANTINED, reason="contradiction", rival=plan.rival
        )
    fact = _create(member, namespace, candidate)
    for old in plan.supersedes:
        supersede(old, by=fact, actor=candidate.actor)
    return fact


def _plan(candidate: Candidate, key: str, active: Sequence[Fact]) -> _Plan:
    """What becomes of the facts that are there; decided from the attributes that they share, never by a model."""
    plan = _Plan(renews=next((fact for fact in active if fact.normal == key), None))
    if plan.renews is not None:
        return plan
    for old in active:
        relation = relate(candidate.text, old.text, candidate.names)
        if not relation:
            continue
        if relation in {"same", "covered"}:
            return _Plan(renews=old, covers=relation == "covered")
        if candidate.said_at < old.said_at:
            plan.overtaken_by = plan.overtaken_by or old  # an older message, read later
        elif relation == "conflicts" and candidate.source == Fact.Source.MANUAL:
            continue  # whoever writes a second dog down means a second dog
        elif candidate.correction or relation == "refines" or candidate.source == Fact.Source.MANUAL:
            plan.supersedes.append(old)
        elif relation == "conflicts" or candidate.trust < old.trust:
            plan.rival = plan.rival or old
        else:
            plan.supersedes.append(old)
    return plan


def _create(
    member: Member,
    namespace: str,
    candidate: Candidate,
    *,
    state: str = State.ACTIVE,
    reason: str = "",
    rival: Fact | None = None,
    superseded_by: Fact | None = None,
) -> Fact:
    fact = Fact.objects.create(
        member=member,
        namespace=namespace,
        text=clean(candidate.text),
        normal=digest(candidate.text),
        source=candidate.source,
        trust=candidate.trust,
        state=state,
        reason=reason,
        rival=rival,
        superseded_by=superseded_by,
        evidence=candidate.evidence,
        audience=candidate.audience,
        guild=candidate.guild,
        said_at=candidate.said_at,
        expires_at=candidate.expires_at,
    )
    note(fact, "created", candidate.actor)
    return fact


def renew(fact: Fact, candidate: Candidate, *, covers: bool = False) -> None:
    """States a fact again: it lives on from now. What was learned in private and is now said in a server was said there too.

    A fact that says more (``covers``) stays where it was learned: the rest of it was not said again.
    """
    fact.said_at = max(fact.said_at, candidate.said_at)
    fact.updated_at = timezone.now()
    if fact.expires_at is not None or candidate.lifetime is not None:
        # A shorter life that was asked for is as good as a longer one: the last word counts.
        fact.expires_at = candidate.expires_at
    said_here = candidate.evidence is not None and candidate.said_at >= fact.said_at and not covers
    if fact.evidence_id is not None and said_here:
        private = fact.audience == Fact.Audience.PRIVATE
        if private or candidate.audience == fact.audience:
            fact.evidence, fact.audience, fact.guild = candidate.evidence, candidate.audience, candidate.guild
    fact.save()


def supersede(fact: Fact, *, by: Fact, actor: str) -> None:
    """Keeps a fact as history of the one that has its place."""
    fact.state, fact.superseded_by, fact.updated_at = State.SUPERSEDED, by, timezone.now()
    fact.rival, fact.reason = None, ""
    fact.save()
    Fact.objects.filter(rival=fact).update(rival=by)
    note(fact, "superseded", actor)


def note(fact: Fact, action: str, actor: str) -> None:
    FactVersion.objects.create(fact=fact, text=fact.text, action=action, actor=actor)


def _trim(member: Member, namespace: str) -> set[int]:
    """Removes what is over the limits, oldest first; returns their ids."""
    limits = {
        State.ACTIVE: get_config().facts.max_facts,
        State.QUARANTINED: MOST_WAITING,
        State.SUPERSEDED: MOST_SUPERSEDED,
    }
    gone: set[int] = set()
    for state, limit in limits.items():
        rows = Fact.objects.filter(member=member, namespace=namespace, state=state).order_by(
            "-created_at", "-id"
        )
        gone.update(rows.values_list("id", flat=True)[limit:])
    if gone:
        delete(Fact.objects.filter(id__in=gone))
    return gone


def delete(facts: QuerySet[Fact]) -> int:
    """Removes facts with their versions and their place in traces, and has their bytes taken out of the files."""
    ids = list(facts.values_list("id", flat=True))
    if not ids:
        return 0
    Fact.objects.filter(id__in=ids).delete()
    outbox.enqueue(CLEAN_FILES, [0])
    return len(ids)


def purge_expired(*, member_id: int | None = None) -> int:
    """Empties facts whose time is over, of one member or of all; returns how many. Only that there was one stays, for a while."""
    now = timezone.now()
    over = Fact.objects.filter(expires_at__lte=now).exclude(state=State.EXPIRED)
    old = Fact.objects.filter(state=State.EXPIRED, updated_at__lt=now - KEEP_EXPIRED)
    if member_id is not None:
        over, old = over.filter(member_id=member_id), old.filter(member_id=member_id)
    ids = list(over.values_list("id", flat=True)[:5000])
    if not ids and not old.exists():
        return 0
    with transaction.atomic():
        _empty(ids, now)
        if ids:
            outbox.enqueue(CLEAN_FILES, [0])
        old.delete()
    return len(ids)


def _empty(ids: Iterable[int], now: datetime) -> None:
    some = list(ids)
    for start in range(0, len(some), 500):
        part = some[start : start + 500]
        FactVersion.objects.filter(fact_id__in=part).delete()
        ReplyFact.objects.filter(fact_id__in=part).delete()
        Fact.objects.filter(rival_id__in=part).update(rival=None)
        # The condition again: one may have been renewed since it was looked up.
        gone = Fact.objects.filter(Q(expires_at__lte=now), id__in=part)
        gone.update(
            text="", normal="", reason="", state=State.EXPIRED, evidence=None, rival=None, updated_at=now
        )
