"""One's own account: password, second step, recovery codes."""

from __future__ import annotations

import functools
from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import audit
from memory.errors import InvalidInput
from musebot_site.dashboard import lockout, second_step
from musebot_site.dashboard.account_forms import WRONG_PASSWORD, PasswordChangeForm
from musebot_site.dashboard.http import Request, may_enter

SECRET = "second_step_secret"
View = Callable[[Request, User], HttpResponse]


def own(view: View) -> Callable[[HttpRequest], HttpResponse]:
    """For whoever is signed in with a password; what is shown stays out of caches, and is not compressed with a secret on it."""

    @functools.wraps(view)
    def guarded(request: Request) -> HttpResponse:
        user = request.user
        if not isinstance(user, User) or not user.has_usable_password() or not may_enter(user):
            return redirect_to_login(request.get_full_path(), reverse("dashboard:sign-in"))
        response = view(request, user)
        response.headers["Cache-Control"] = "private, no-store"
        response.uncompressed = True  # type: ignore[attr-defined]
        return response

    return guarded  # type: ignore[return-value]


@own
@require_safe
def index(request: Request, user: User) -> HttpResponse:
    context = {
        "on": second_step.is_on(user),
        "left": second_step.recovery_codes_left(user),
        "required": settings.REQUIRE_TOTP,
    }
    return render(request, "access/account.html", context)


@sensitive_post_parameters()
@own
@require_http_methods(["GET", "HEAD", "POST"])
def password(request: Request, user: User) -> HttpResponse:
    """A new password signs out everywhere else."""
    form = PasswordChangeForm(request.POST or None, user=user)
    if request.method == "POST" and form.is_valid():
        if not _password_fits(request, user, form.cleaned_data["now"]):
            form.add_error("now", WRONG_PASSWORD)
        else:
            user.set_password(form.cleaned_data["password"])
            user.save(update_fields=["password"])
            update_session_auth_hash(request, user)
            _record(user, "account.password_changed")
            messages.success(request, "Your password is changed. Everywhere else you are signed out.")
            return redirect("account:index")
    return render(request, "access/password.html", {"form": form}, status=422 if form.errors else 200)


@sensitive_post_parameters()
@own
@require_http_methods(["GET", "HEAD", "POST"])
def enrol(request: Request, user: User) -> HttpResponse:
    """Shows the secret as a picture and as text; a code from the app switches the second step on."""
    if second_step.is_on(user):
        return redirect("account:index")
    secret = request.session.get(SECRET) or second_step.new_secret()
    error = ""
    if request.method == "POST":
        if lockout.code_is_locked(account_id=user.pk, address=_address(request)):
            error = "There were too many attempts. Wait 15 minutes."
        else:
            try:
                codes = second_step.enrol(user=user, secret=secret, code=request.POST.get("code", "")[:100])
            except InvalidInput as problem:
                lockout.code_failed(account_id=user.pk, address=_address(request))
                error = problem.message
            else:
                request.session.pop(SECRET, None)
                request.session.cycle_key()
                return _show(request, codes, new=True)
    request.session[SECRET] = secret
    context = {
        "picture": second_step.picture(second_step.address(user, secret)),
        "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
        "error": error,
        "required": settings.REQUIRE_TOTP,
    }
    return render(request, "access/second_step.html", context, status=422 if error else 200)


@sensitive_post_parameters()
@own
@require_POST
def switch_off(request: Request, user: User) -> HttpResponse:
    if settings.REQUIRE_TOTP:
        messages.error(request, "The second step is required here, so it stays on.")
    elif _password_fits(request, user, request.POST.get("password", "")):
        second_step.switch_off(user)
        messages.success(request, "The second step is off. From now on your password alone lets you in.")
    else:
        messages.error(request, f"{WRONG_PASSWORD} The second step stays on.")
    return redirect("account:index")


@sensitive_post_parameters()
@own
@require_POST
def new_codes(request: Request, user: User) -> HttpResponse:
    """New recovery codes, shown once; the old ones end."""
    if not _password_fits(request, user, request.POST.get("password", "")):
        messages.error(request, f"{WRONG_PASSWORD} Your recovery codes are the ones from before.")
        return redirect("account:index")
    try:
        codes = second_step.new_recovery_codes(user)
    except InvalidInput as problem:
        messages.error(request, problem.message)
        return redirect("account:index")
    return _show(request, codes, new=False)


def _show(request: Request, codes: list[str], *, new: bool) -> HttpResponse:
    pairs = [f"{code[:4]} {code[4:]}" for code in codes]
    return render(request, "access/recovery_codes.html", {"codes": pairs, "new": new})


def _password_fits(request: Request, user: User, given: str) -> bool:
    """Asked again before what weakens the account. Failures count as wrong codes do."""
    address = _address(request)
    if lockout.code_is_locked(account_id=user.pk, address=address):
        return False
    if user.check_password(given[:1000]):
        return True
    lockout.code_failed(account_id=user.pk, address=address)
    return False


def _address(request: Request) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))


def _record(user: User, action: str) -> None:
    audit.record(actor=audit.admin(user.pk), action=action, kind="account", object_id=str(user.pk))
