"""How the pages of members are served: to whoever Discord vouched for, about themselves and nobody else."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from memory.errors import MusebotError
from musebot_site.dashboard.http import page
from musebot_site.members.sign_in import Person, person_of
from musebot_site.templatetags.dashboard import store

View = Callable[..., HttpResponseBase]

SECTIONS = (
    ("Overview", "own:index", "home"),
    ("Memories", "own:memories", "memories"),
    ("Facts", "own:facts", "facts"),
    ("Core memory", "own:core-memory", "core"),
    ("Replies", "own:replies", "replies"),
)


def own(view: View) -> View:
    """Gives the view the person who is signed in with Discord; sends everybody else to sign in. Keeps what it shows out of caches."""

    @functools.wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        person = person_of(request)
        if person is None:
            return to_sign_in(request)
        try:
            response = view(request, person, *args, **kwargs)
        except MusebotError as error:
            response = show(request, person, "own/problem.html", {"error": error}, status=error.status)
        response.headers["Cache-Control"] = "private, no-store"
        return response

    return guarded


def addressed(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Counts by store, with the stores called as one says it to whom they are about."""
    named = [(store(name), count) for name, count in counts.items()]
    return [(name.replace(" to them", " to you").replace("their ", "your "), count) for name, count in named]


def to_sign_in(request: HttpRequest) -> HttpResponseBase:
    if request.htmx:  # type: ignore[attr-defined]
        return HttpResponseClientRedirect(reverse("own:sign-in"))
    return redirect_to_login(request.get_full_path(), reverse("own:sign-in"))


def show(
    request: HttpRequest,
    person: Person,
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    parts: Mapping[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    """A page in the frame of a member's pages."""
    sections = [(label, reverse(name), icon) for label, name, icon in SECTIONS]
    return page(
        request,
        template,
        {"person": person, "sections": sections, **(context or {})},
        parts=parts,
        status=status,
    )
