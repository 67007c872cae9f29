"""How every page of the dashboard is served: who may see it, page or part of a page, errors, and which server it is about."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.contrib.sessions.backends.base import SessionBase
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from memory import selectors
from memory.errors import MusebotError

logger = logging.getLogger(__name__)

View = Callable[..., HttpResponseBase]


class Request(HttpRequest):
    """A request after all middleware."""

    htmx: HtmxDetails
    session: SessionBase
    user: User | AnonymousUser


def may_enter(user: AbstractBaseUser | AnonymousUser) -> bool:
    """The one rule of the dashboard: active accounts of staff."""
    return bool(user.is_active and (getattr(user, "is_staff", False) or getattr(user, "is_superuser", False)))


def staff_only(view: View) -> View:
    """Lets only those in who may enter, keeps what they see out of caches, and turns our errors into pages."""

    @functools.wraps(view)
    def guarded(request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _to_sign_in(request)
        if not may_enter(request.user):
            raise PermissionDenied("This account may not see the dashboard.")
        try:
            response = view(request, *args, **kwargs)
        except MusebotError as error:
            response = problem(request, error)
        response.headers["Cache-Control"] = "private, no-store"
        return response

    return guarded


def guarded_path(route: str, view: View, name: str) -> URLPattern:
    """A route that only staff reach."""
    return path(route, staff_only(view), name=name)


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


def scope(request: Request) -> int | None:
    """Discord's id of the server that the page is about, None for all: ``?guild=`` or what was chosen last."""
    if "guild" in request.GET:
        chosen = number(request.GET["guild"])
        if chosen is not None and selectors.guild(chosen) is None:
            chosen = None
        if request.session.get("guild") != chosen:
            request.session["guild"] = chosen
        return chosen
    kept: int | None = request.session.get("guild")
    if kept is not None and selectors.guild(kept) is None:
        request.session["guild"] = None
        return None
    return kept


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
