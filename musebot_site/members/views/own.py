"""What is stored of somebody, for them to see: overview, memories, facts, core memory, and the replies that used any of it.

Looking at oneself is not written to the audit; signing in, taking the export and every change are.
"""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from memory import facts as fact_services
from memory import selectors
from memory.conf import get_config
from memory.consent import NOTICE_VERSION
from memory.facts import REASONS
from memory.selectors import MemoryFilters
from memory.selectors import own as reads
from musebot_site.dashboard.paging import PAGE_SIZE
from musebot_site.members.http import addressed, own, show
from musebot_site.members.sign_in import Person

FACTS = 25
"""Of a page: each comes with the two forms that change it."""
FIGURES = (
    ("Memories", "own:memories", "messages"),
    ("Facts", "own:facts", "facts kept"),
    ("Notes in core memory", "own:core-memory", "core memory blocks"),
    ("Uses in answers", "own:replies", "uses in answers"),
)
"""What stands largest, with the store of the inventory that it is counted in."""


@own
@require_safe
def index(request: HttpRequest, person: Person) -> HttpResponse:
    """Consent, counts, servers, readings of the history, erasures; and for somebody who has not opted in, that there is nothing."""
    user_id = person.user_id
    member = selectors.member(user_id)
    inventory = selectors.member_inventory(user_id) if member else {}
    context = {
        "member": member,
        "inventory": addressed(inventory),
        "figures": [(label, reverse(name), inventory.get(store)) for label, name, store in FIGURES],
        "places": selectors.member_places(user_id) if member else [],
        "histories": reads.histories(user_id) if member else [],
        "consents": reads.consents(user_id),
        "erasures": reads.erasures(user_id),
        "current_notice": NOTICE_VERSION,
    }
    return show(request, person, "own/index.html", context)


@own
@require_safe
def memories(request: HttpRequest, person: Person) -> HttpResponse:
    cursor = request.GET.get("cursor") or None
    found = selectors.memories(MemoryFilters(user_id=person.user_id), limit=PAGE_SIZE, cursor=cursor)
    context = {"found": found, "list_url": reverse("own:memories")}
    return show(request, person, "own/memories.html", context, parts={"results": "own/_memories.html"})


@own
@require_safe
def memory(request: HttpRequest, person: Person, key: int) -> HttpResponse:
    """One memory in full: its text, what its images show, and how often it was used."""
    row = selectors.memory(key)
    if row is None or row.member_id != person.user_id:
        raise Http404
    return show(request, person, "own/memory.html", {"row": row})


@own
@require_safe
def facts(request: HttpRequest, person: Person) -> HttpResponse:
    """What has expired is emptied before the rest is shown."""
    fact_services.purge_expired(member_id=person.user_id)
    cursor = request.GET.get("cursor") or None
    found = reads.facts(person.user_id, limit=FACTS, cursor=cursor)
    context = {
        "found": found,
        "rows": [(row, REASONS.get(row.reason, row.reason)) for row in found.rows],
        "limit": get_config().facts.max_fact_length,
        "list_url": reverse("own:facts"),
    }
    return show(request, person, "own/facts.html", context, parts={"results": "own/_facts.html"})


@own
@require_safe
def core_memory(request: HttpRequest, person: Person) -> HttpResponse:
    """The blocks that stand in prompts, and what is kept beside them."""
    cursor = request.GET.get("cursor") or None
    context = {
        "blocks": reads.blocks(person.user_id),
        "found": reads.archive(person.user_id, limit=PAGE_SIZE, cursor=cursor),
        "list_url": reverse("own:core-memory"),
    }
    return show(request, person, "own/core_memory.html", context, parts={"results": "own/_archive.html"})


@own
@require_safe
def replies(request: HttpRequest, person: Person) -> HttpResponse:
    """When and where something of theirs was used. What somebody else asked is not shown."""
    cursor = request.GET.get("cursor") or None
    found = reads.replies_using(person.user_id, limit=PAGE_SIZE, cursor=cursor)
    context = {"found": found, "list_url": reverse("own:replies")}
    return show(request, person, "own/replies.html", context, parts={"results": "own/_replies.html"})
