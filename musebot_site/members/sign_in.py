"""What follows once Discord has said who somebody is: a session of theirs, and their role where they moderate a server."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from memory import audit, roles
from memory.models import Guild
from memory.pseudonyms import subject_hash
from musebot_site import sessions
from musebot_site.dashboard.http import may_enter

KEY = "discord"
BACKEND = "django.contrib.auth.backends.ModelBackend"
ADMINISTRATOR, MANAGE_GUILD = 1 << 3, 1 << 5
MODERATES = ADMINISTRATOR | MANAGE_GUILD
"""Who may change a server may moderate its memories. *Manage Messages* is not enough: the dashboard shows what was said in all
channels, and that permission reaches channels that its holder may not read."""
OWN_PAGES = ("/me/", "/sources/")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whom Discord vouched for. Ids are Discord's."""

    user_id: int
    username: str
    display_name: str
    servers: frozenset[int]
    """Servers of theirs that the bot is on, too."""
    moderates: frozenset[int] = frozenset()
    second_step: bool = False
    """Whether their account on Discord is protected by one."""

    @property
    def name(self) -> str:
        return self.display_name or self.username or str(self.user_id)


def read(user: Mapping[str, Any], guilds: Sequence[Mapping[str, Any]]) -> Person:
    """Discord's answers as a value. Raises ``KeyError``, ``TypeError`` or ``ValueError`` if they are not in its form."""
    known = set(
        Guild.objects.filter(kind=Guild.Kind.GUILD, left_at=None, is_sample=False).values_list(
            "discord_id", flat=True
        )
    )
    there = {int(guild["id"]): guild for guild in guilds}
    return Person(
        user_id=int(user["id"]),
        username=str(user.get("username") or "")[:100],
        display_name=str(user.get("global_name") or "")[:100],
        servers=frozenset(known & there.keys()),
        moderates=frozenset(key for key in known & there.keys() if _may_moderate(there[key])),
        second_step=user.get("mfa_enabled") is True,
    )


def _may_moderate(guild: Mapping[str, Any]) -> bool:
    return guild.get("owner") is True or bool(int(guild.get("permissions") or 0) & MODERATES)


def complete(request: HttpRequest, person: Person, *, target: str) -> str:
    """Signs a person in and says where to go.

    Everybody gets their own page. Who moderates a server, or was given a role by hand, gets the dashboard as well. Who is signed
    in with a password stays so, and may look at their own page beside it.
    """
    by_password = request.user.is_authenticated and request.user.has_usable_password()
    if by_password:
        request.session.cycle_key()
    else:
        account = _account(person)
        logout(request)
        if account is not None:
            request.signed_in_by = sessions.DISCORD  # type: ignore[attr-defined]
            login(request, account, backend=BACKEND)
        else:
            sessions.begin(request.session, by=sessions.DISCORD)
            request.session.cycle_key()
    _keep(request, person)
    audit.record(actor=audit.member(person.user_id), action="member.signed_in", kind="session")
    return _way(request, target)


def _account(person: Person) -> User | None:
    """The account of somebody who has business in the dashboard, with today's permissions; None for everybody else.

    It bears a pseudonym instead of a name: who moderates a server is not stored under their id.
    """
    name = account_name(person.user_id)
    wanted = person.moderates if person.second_step or not settings.REQUIRE_TOTP else frozenset()
    account = User.objects.filter(username=name).first()
    if account is None:
        if not wanted:
            return None
        account = User.objects.create_user(username=name)
    roles.set_discord_moderator(user_id=account.pk, guild_ids=wanted)
    allowed = person.second_step or not settings.REQUIRE_TOTP
    return account if allowed and account.is_active and may_enter(account) else None


def account_name(user_id: int) -> str:
    """What the account of a moderator from Discord is called."""
    return f"discord-{subject_hash(user_id)[:16]}"


def _keep(request: HttpRequest, person: Person) -> None:
    request.session[KEY] = {
        "user_id": str(person.user_id),
        "username": person.username,
        "display_name": person.display_name,
        "servers": [str(key) for key in sorted(person.servers)],
        "at": time.time(),
    }
    missing = settings.REQUIRE_TOTP and person.moderates and not person.second_step
    if missing and not request.user.is_authenticated:
        messages.info(
            request,
            "You moderate a server. To open its dashboard, switch on two-factor authentication on Discord, and sign in again.",
        )


def person_of(request: HttpRequest) -> Person | None:
    """Who is signed in with Discord, for as long as that counts; None for nobody."""
    kept: Any = request.session.get(KEY)
    try:
        if not 0 <= time.time() - kept["at"] + 60 < sessions.LONGEST_BY_DISCORD.total_seconds():
            return None
        servers = frozenset(int(key) for key in kept["servers"])
        return Person(int(kept["user_id"]), kept["username"], kept["display_name"], servers)
    except (KeyError, TypeError, ValueError):
        return None


def _way(request: HttpRequest, target: str) -> str:
    """Where they wanted to go if that is a page for them; otherwise the best that there is."""
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    inside = request.user.is_authenticated and may_enter(request.user)
    if target and safe and (inside or target.startswith(OWN_PAGES)):
        return target
    return reverse("dashboard:overview") if inside else reverse("own:index")
