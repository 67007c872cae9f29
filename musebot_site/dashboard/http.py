"""How every page of the dashboard is served: who may see it, page or part of a page, errors, and which server it is about."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.contrib.sessions.backends.base import SessionBase
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from memory import selectors
from memory.errors import MusebotError, NotFound
from memory.selectors import GuildRow
from musebot_site.dashboard import records
from musebot_site.dashboard.permissions import NOWHERE, Permission, Reach, Rights, rights

logger = logging.getLogger(__name__)

View = Callable[..., HttpResponseBase]


class Request(HttpRequest):
    """A request after all middleware."""

    htmx: HtmxDetails
    session: SessionBase
    user: User | AnonymousUser
    reach: Reach


def may_enter(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether somebody has any business here: an active account with a role."""
    return Rights(user).may(Permission.ENTER)


@dataclass(frozen=True, slots=True)
class Gate:
    """What stands before one route: the permission that it needs, and what the audit says when it is used."""

    needs: Permission
    views: str = ""
    """Code of the audit's entry when the page is read; empty where it shows nothing of a person."""
    changes: str = ""
    """Code of the entry when something is sent to it."""

    def action(self, request: HttpRequest) -> str:
        return self.views if request.method in {"GET", "HEAD"} else self.changes


def guarded(view: View, gate: Gate) -> View:
    """Lets only those in who hold the permission, keeps what they see out of caches, and writes the audit."""

    @functools.wraps(view)
    def gated(request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _to_sign_in(request)
        if not rights(request).may(gate.needs):
            records.write(request, gate.action(request), kwargs, result="denied")
            raise PermissionDenied("This account may not open this page.")
        request.reach = rights(request).reach(gate.needs)
        records.actor(request)
        result = "ok"
        try:
            response = view(request, *args, **kwargs)
        except MusebotError as error:
            response, result = problem(request, error), error.code
        except Http404:
            records.write(request, gate.action(request), kwargs, result="not_found")
            raise
        # Before the first byte is sent: what cannot be recorded is not shown.
        records.write(request, gate.action(request), kwargs, result=result)
        response.headers["Cache-Control"] = "private, no-store"
        return response

    gated.gate = gate  # type: ignore[attr-defined]
    return gated


def guarded_path(
    route: str,
    view: View,
    name: str,
    *,
    needs: Permission = Permission.SETTINGS,
    views: str = "",
    changes: str = "",
) -> URLPattern:
    """A route for those who hold ``needs``; one that names nothing is the owner's alone."""
    return path(route, guarded(view, Gate(needs, views, changes)), name=name)


def _to_sign_in(request: Request) -> HttpResponseBase:
    if request.htmx:
        return HttpResponseClientRedirect(reverse("dashboard:sign-in"))
    return redirect_to_login(request.get_full_path(), reverse("dashboard:sign-in"))


def page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    parts: Mapping[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page, or the part that htmx asks for: ``parts`` maps the id of its target to the template of that part."""
    htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]
    if parts and htmx and not htmx.history_restore_request:
        template = parts.get(htmx.target or "", template)
    response = render(request, template, dict(context or {}), status=status)
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response


def problem(request: HttpRequest, error: MusebotError) -> HttpResponse:
    """An error of ours as a page that says what to do."""
    if error.status >= 500:
        logger.warning("%s: %s", request.resolver_match and request.resolver_match.view_name, error.code)
    return render(request, "problem.html", {"error": error}, status=error.status)


def allowed_servers(request: HttpRequest) -> frozenset[int] | None:
    """Discord's ids of the servers that the page may show; None for everything. Nothing outside of a guarded route."""
    reach: Reach = getattr(request, "reach", NOWHERE)
    return reach.servers


def require_server(request: HttpRequest, guild_id: int | None) -> None:
    """Call it with the server of an object before it is shown or changed; None for what has no server, or is private.

    Raises ``NotFound`` for another server's: that there is such an object is not said either.
    """
    servers = allowed_servers(request)
    records.note(request, guild=guild_id or 0)
    if servers is not None and guild_id not in servers:
        raise NotFound("There is no such thing here, or you may not see it.")


def scope(request: Request) -> int | None:
    """Discord's id of the server that the page is about, None for all: ``?guild=`` or what was chosen last.

    Somebody who may see some servers only is always in one of them, so that None means everything wherever it is passed on.
    """
    servers = allowed_servers(request)
    if "guild" in request.GET:
        chosen = _real(number(request.GET["guild"]), servers)
        if request.session.get("guild") != chosen:
            request.session["guild"] = chosen
    else:
        kept: int | None = request.session.get("guild")
        chosen = _real(kept, servers)
        if kept is not None and chosen is None:
            request.session["guild"] = None
    if chosen is None and servers is not None:
        chosen = next((row.id for row in selectors.guilds() if row.id in servers), None)
        if chosen is None:
            raise PermissionDenied("There is no server that this account may see.")
    records.about(request, chosen)
    return chosen


def own_servers(request: HttpRequest) -> list[GuildRow]:
    """The servers that somebody may choose from, by name."""
    servers = allowed_servers(request)
    return [row for row in selectors.guilds() if servers is None or row.id in servers]


def only_server(request: Request) -> int | None:
    """The server that somebody who may see some servers only is looking at; None for everybody else."""
    return None if allowed_servers(request) is None else scope(request)


def _real(guild_id: int | None, servers: frozenset[int] | None) -> int | None:
    if guild_id is None or (servers is not None and guild_id not in servers):
        return None
    return guild_id if selectors.guild(guild_id) is not None else None


def number(text: str) -> int | None:
    """An id out of an address; None for anything else."""
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 2**63:
        return int(text)
    return None


def back_to(request: HttpRequest, fallback: str) -> str:
    """Where a form wants to return to, if that is one of our pages."""
    target = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if target and safe else fallback


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "403.html", status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return render(request, "404.html", status=404)
