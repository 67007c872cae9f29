"""Facts about a member: list, add, forget."""

from __future__ import annotations

from dataclasses import asdict

from django.http import HttpRequest
from ninja import Router

from memory import errors, facts
from musebot_site.api.auth import ERASE, READ, WRITE
from musebot_site.api.schemas import REFUSALS, AddedOut, FactOut, FactsIn, FactsOut, Id, Problem, RemovedOut

router = Router(tags=["facts"])
PATH = "members/{user_id}/facts"


@router.get(PATH, auth=READ, response={200: FactsOut, REFUSALS: Problem})
def list_facts(request: HttpRequest, user_id: Id) -> FactsOut:
    """The live facts, oldest first; none for somebody who has not opted in."""
    return FactsOut(facts=[FactOut(**asdict(fact)) for fact in facts.memory_facts(user_id)])


@router.post(PATH, auth=WRITE, response={200: AddedOut, REFUSALS: Problem})
def add_facts(request: HttpRequest, user_id: Id, body: FactsIn) -> AddedOut:
    """Adds facts. What is known is renewed; one that cannot be stored refuses all, and the error says which and why."""
    added = facts.remember(user_id, body.facts, ttl=body.ttl, source=body.source)
    return AddedOut(added=added)


@router.delete(PATH + "/{fact_id}", auth=ERASE, response={200: RemovedOut, REFUSALS: Problem})
def forget_fact(request: HttpRequest, user_id: Id, fact_id: Id) -> RemovedOut:
    """Forgets one fact, with its history."""
    if not facts.forget_by_id(user_id, fact_id):
        raise errors.NotFound("This member has no such fact.")
    return RemovedOut(removed=1)


@router.delete(PATH, auth=ERASE, response={200: RemovedOut, REFUSALS: Problem})
def forget_facts(request: HttpRequest, user_id: Id, all: bool = False) -> RemovedOut:
    """Forgets every fact of a member, with `all=true` only."""
    if not all:
        raise errors.InvalidInput(
            "Add all=true to forget every fact of this member, or name one.", field="all"
        )
    return RemovedOut(removed=facts.forget(user_id))
