"""Signing in and out, the first account, and the theme."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import authenticate, login, logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from musebot_site.dashboard import first_sign_in, lockout
from musebot_site.dashboard.context import THEMES
from musebot_site.dashboard.forms import SIGN_IN_ERROR, SignInForm, WelcomeForm
from musebot_site.dashboard.http import back_to, may_enter

BACKEND = "django.contrib.auth.backends.ModelBackend"


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
        if form.is_valid() and _sign_in(request, **form.cleaned_data):
            return HttpResponseRedirect(target)
    return render(
        request,
        "access/sign_in.html",
        {"form": form, "error": SIGN_IN_ERROR if refused else "", "next": target},
        status=403 if refused else 200,
    )


def _sign_in(request: HttpRequest, *, username: str, password: str) -> bool:
    address = request.META.get("REMOTE_ADDR", "")
    if lockout.is_locked(username=username, address=address):
        return False
    user = authenticate(request, username=username, password=password)
    if user is None or not may_enter(user):
        lockout.failed(username=username, address=address)
        return False
    lockout.succeeded(username=username, address=address)
    login(request, user)
    return True


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
