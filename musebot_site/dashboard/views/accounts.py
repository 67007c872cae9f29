"""Accounts: who may see the dashboard, with which roles; inviting, changing roles, shutting out."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memory import roles, selectors
from memory.conf import get_config
from memory.errors import Conflict
from memory.models import Role, RoleGrant
from musebot_site.dashboard import invitations, records
from musebot_site.dashboard.account_role_forms import RoleForm
from musebot_site.dashboard.forms import WelcomeForm
from musebot_site.dashboard.http import Request, number, page

BACKEND = "django.contrib.auth.backends.ModelBackend"


@dataclass(frozen=True, slots=True)
class Given:
    """A role as it is shown; ``value`` is what a form sends to take it away."""

    role: Role
    server: str
    from_discord: bool
    value: str


@dataclass(frozen=True, slots=True)
class Row:
    user: User
    given: list[Given]


@require_safe
def index(request: Request) -> HttpResponse:
    return page(request, "accounts/index.html", _listing(RoleForm()))


def _listing(form: RoleForm, link: str = "") -> dict[str, object]:
    servers = _servers()
    rows = User.objects.prefetch_related("role_grants").order_by("-is_active", "username")
    return {
        "rows": [Row(user, _given(user, servers)) for user in rows[:500]],
        "invitations": [
            (one, one.role.label, servers.get(one.guild_id or 0, "all servers"))
            for one in invitations.open_ones()
        ],
        "form": form,
        "link": link,
        "days": invitations.DAYS,
    }


@require_POST
def invite(request: Request) -> HttpResponse:
    """The link is shown on the page that answers, and nowhere again."""
    form, link = RoleForm(request.POST), ""
    if form.is_valid():
        link = invitations.invite(
            role=form.role_of(),
            guild=form.guild_id(),
            by=records.actor(request),
            base_url=get_config().public_url or request.build_absolute_uri("/"),
        )
        form = RoleForm()
    status = 422 if form.errors else 200
    response = page(request, "accounts/index.html", _listing(form, link), status=status)
    response.uncompressed = True  # type: ignore[attr-defined]  # how well it is compressed would tell of the secret
    return response


@require_POST
def withdraw(request: Request) -> HttpResponse:
    invitations.withdraw(key=request.POST.get("invitation", "")[:40], by=records.actor(request))
    messages.success(request, "The invitation is withdrawn: its link does not work any more.")
    return redirect("dashboard:accounts")


@require_safe
def detail(request: Request, account_id: int) -> HttpResponse:
    return page(request, "accounts/detail.html", _one(request, account_id, RoleForm()))


def _one(request: Request, account_id: int, form: RoleForm) -> dict[str, object]:
    user = _account(account_id)
    return {
        "account": user,
        "given": _given(user, _servers()),
        "form": form,
        "is_oneself": user.pk == request.user.pk,
    }


@require_POST
def grant(request: Request, account_id: int) -> HttpResponse:
    user, form = _account(account_id), RoleForm(request.POST)
    if not form.is_valid():
        return page(request, "accounts/detail.html", _one(request, account_id, form), status=422)
    roles.grant(user_id=user.pk, role=form.role_of(), guild=form.guild_id(), by=records.actor(request))
    messages.success(request, f"{user.get_username()} is {form.role_of().label.lower()} now.")
    return redirect("dashboard:account", account_id=account_id)


@require_POST
def revoke(request: Request, account_id: int) -> HttpResponse:
    user = _account(account_id)
    name, _, server = request.POST.get("role", "").partition("-")
    if name not in Role.values:
        raise Http404
    roles.revoke(user_id=user.pk, role=Role(name), guild=number(server) or None, by=records.actor(request))
    messages.success(request, f"{user.get_username()} is not {Role(name).label.lower()} there any more.")
    if user.pk == request.user.pk and name == Role.OWNER:
        return redirect("dashboard:overview")
    return redirect("dashboard:account", account_id=account_id)


@require_POST
def activity(request: Request, account_id: int) -> HttpResponse:
    """Shuts an account out, or lets it in again."""
    user = _account(account_id)
    if request.POST.get("active") == "1":
        roles.activate(user_id=user.pk, by=records.actor(request))
        messages.success(request, f"{user.get_username()} may sign in again.")
    else:
        roles.deactivate(user_id=user.pk, by=records.actor(request))
        messages.success(request, f"{user.get_username()} is shut out, and signed out everywhere.")
    return redirect("dashboard:account", account_id=account_id)


@sensitive_post_parameters("password", "again")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def accept(request: HttpRequest, token: str) -> HttpResponse:
    """Where an invitation leads: choose a name and a password."""
    invitation = invitations.find(token)
    if invitation is None:
        return render(request, "access/link_used.html", status=410)
    form = WelcomeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        try:
            user = invitations.accept(token=token, username=values["username"], password=values["password"])
        except Conflict as error:
            form.add_error("username", error.message)
        else:
            login(request, user, backend=BACKEND)
            return redirect("dashboard:overview")
    context = {"form": form, "role": invitation.role.label}
    return render(request, "access/invitation.html", context, status=422 if form.errors else 200)


def _account(account_id: int) -> User:
    user = User.objects.prefetch_related("role_grants").filter(pk=account_id).first()
    if user is None:
        raise Http404
    return user


def _servers() -> dict[int, str]:
    return {row.id: row.name for row in selectors.guilds()}


def _given(user: User, servers: dict[int, str]) -> list[Given]:
    found = [Given(Role.OWNER, "all servers", False, "owner-")] if user.is_superuser else []
    for row in sorted(user.role_grants.all(), key=lambda row: (row.role, row.server)):
        if row.role == Role.OWNER and user.is_superuser:
            continue
        server = servers.get(row.server, str(row.server)) if row.server else "all servers"
        discord = row.origin == RoleGrant.Origin.DISCORD
        found.append(Given(Role(row.role), server, discord, f"{row.role}-{row.server or ''}"))
    return found
