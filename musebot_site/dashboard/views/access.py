"""Signing in with a password and, where it is on, a second step; signing out, the first account, and the theme."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate, login, logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from memory import audit
from musebot_site.dashboard import first_sign_in, lockout, second_step
from musebot_site.dashboard.context import THEMES
from musebot_site.dashboard.forms import SIGN_IN_ERROR, SignInForm, WelcomeForm
from musebot_site.dashboard.http import back_to, may_enter
from musebot_site.members import discord
from musebot_site.members.sign_in import person_of
from musebot_site.middleware import policy

BACKEND = "django.contrib.auth.backends.ModelBackend"
WAITING = "second_step"
SECOND_STEP_SECONDS = 600
CODE_ERROR = "This code does not fit, or there were too many attempts. After five, wait 15 minutes."


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """One text for every failure: it tells neither whether the account exists nor whether it is locked."""
    target = back_to(request, "/")
    if request.user.is_authenticated and may_enter(request.user):
        return redirect(target)
    form, refused = SignInForm(request.POST or None), False
    if request.method == "POST":
        refused = True
        if form.is_valid() and (user := _with_password(request, **form.cleaned_data)):
            return _go_on(request, user, target)
    context = {
        "form": form,
        "error": SIGN_IN_ERROR if refused else "",
        "next": target,
        "with_discord": discord.is_offered(),
        "person": person_of(request),
    }
    response = render(request, "access/sign_in.html", context, status=403 if refused else 200)
    if discord.is_offered():
        response.headers["Content-Security-Policy"] = policy(forms_lead_to=[discord.origin()])
    return response


def _with_password(request: HttpRequest, *, username: str, password: str) -> User | None:
    """The account, if the password is its own. How long that takes does not tell whether the account exists."""
    address = request.META.get("REMOTE_ADDR", "")
    if lockout.is_locked(username=username, address=address):
        return None
    user = authenticate(request, username=username, password=password)
    if not isinstance(user, User) or not may_enter(user):
        lockout.failed(username=username, address=address)
        _refused(User.objects.filter(username=username).first())
        return None
    lockout.succeeded(username=username, address=address)
    return user


def _go_on(request: HttpRequest, user: User, target: str) -> HttpResponse:
    """In, or to the second step. Until that is done, the session only knows whom it is about."""
    if not second_step.is_on(user):
        return _enter(request, user, target)
    request.session.cycle_key()
    request.session[WAITING] = {
        "account": user.pk,
        "proof": user.get_session_auth_hash(),
        "since": time.time(),
        "next": target,
    }
    return redirect("account:code")


@sensitive_post_parameters("code")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def code(request: HttpRequest) -> HttpResponse:
    """The second step: a code of the app, or a recovery code."""
    waiting = request.session.get(WAITING) or {}
    user = _waiting_account(waiting)
    if user is None:
        return redirect("dashboard:sign-in")
    refused = False
    if request.method == "POST":
        if _with_code(request, user, request.POST.get("code", "")[:100]):
            del request.session[WAITING]
            return _enter(request, user, waiting["next"])
        refused = True
    context = {"error": CODE_ERROR if refused else ""}
    return render(request, "access/code.html", context, status=403 if refused else 200)


def _waiting_account(waiting: Mapping[str, Any]) -> User | None:
    """The account whose password was right just now, as long as it is the same password."""
    try:
        if not 0 <= time.time() - waiting["since"] < SECOND_STEP_SECONDS:
            return None
        user = User.objects.filter(pk=waiting["account"], is_active=True).first()
        same = user is not None and constant_time_compare(waiting["proof"], user.get_session_auth_hash())
    except (KeyError, TypeError):
        return None
    return user if same else None


def _with_code(request: HttpRequest, user: User, given: str) -> bool:
    address = request.META.get("REMOTE_ADDR", "")
    if lockout.code_is_locked(account_id=user.pk, address=address):
        return False
    if not second_step.check(user=user, code=given):
        lockout.code_failed(account_id=user.pk, address=address)
        _refused(user)
        return False
    lockout.code_succeeded(account_id=user.pk)
    return True


def _refused(user: User | None) -> None:
    """For the audit. What was typed as a name is not kept where there is no such account: it may have been a password."""
    audit.record(
        actor="visitor",
        action="account.sign_in_failed",
        kind="account",
        object_id=str(user.pk) if user else "",
        result="refused",
    )


def _enter(request: HttpRequest, user: User, target: str) -> HttpResponse:
    login(request, user, backend=BACKEND)
    audit.record(
        actor=audit.admin(user.pk), action="account.signed_in", kind="account", object_id=str(user.pk)
    )
    return HttpResponseRedirect(target)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("dashboard:sign-in")


@sensitive_post_parameters("password", "again")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def welcome(request: HttpRequest, token: str) -> HttpResponse:
    """The one-time link of a new installation: choose a name and a password."""
    if not first_sign_in.is_valid(token):
        return render(request, "access/link_used.html", status=410)
    form = WelcomeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        owner = first_sign_in.create_owner(
            token=token, username=values["username"], password=values["password"]
        )
        login(request, owner, backend=BACKEND)
        audit.record(
            actor=audit.admin(owner.pk), action="account.created", kind="account", object_id=str(owner.pk)
        )
        return redirect("dashboard:overview")
    return render(request, "access/welcome.html", {"form": form})


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keeps the chosen theme in a cookie; the page is rendered with it from the first byte."""
    chosen = request.POST.get("theme", "")
    response = redirect(back_to(request, "/"))
    if chosen in THEMES:
        response.set_cookie(
            "theme",
            chosen,
            max_age=365 * 24 * 3600,
            samesite="Lax",
            secure=bool(getattr(settings, "SESSION_COOKIE_SECURE", False)),
        )
    return response
