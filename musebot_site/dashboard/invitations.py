"""Letting somebody in: a link that works once, at which they choose the name and password of an account with a role.

Only a hash of what makes the link secret is stored, so that it cannot be read out of the database or a backup of it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from memory import audit, roles
from memory.errors import Conflict, NotFound
from memory.models import InstallationState, Role
from memory.models.locks import hold

PREFIX = "invitation:"
DAYS = 7


@dataclass(frozen=True, slots=True)
class Invitation:
    """One that was not used yet."""

    id: str
    role: Role
    guild_id: int | None
    by: str
    """An actor of the audit."""
    at: datetime

    @property
    def ends_at(self) -> datetime:
        return self.at + timedelta(days=DAYS)


def invite(*, role: Role, guild: int | None, by: str, base_url: str) -> str:
    """The link. Raises as ``memory.roles.grant`` for a role or a server that there is not."""
    roles.check(role=role, guild=guild)
    key, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    with transaction.atomic():
        InstallationState.objects.filter(name__startswith=PREFIX, at__lt=_oldest()).delete()
        InstallationState.objects.create(
            name=PREFIX + key,
            value={"digest": _digest(secret), "role": role.value, "guild": guild, "by": by},
        )
        action = f"account.invited.{role.value}"
        audit.record(actor=by, action=action, kind="invitation", object_id=key, guild=guild)
    return base_url.rstrip("/") + reverse("dashboard:invitation", args=[f"{key}.{secret}"])


def find(token: str) -> Invitation | None:
    """The invitation of a link, if it still works."""
    key, _, secret = token.partition(".")
    row = InstallationState.objects.filter(name=PREFIX + key, at__gte=_oldest()).first()
    if row is None or not hmac.compare_digest(str(row.value.get("digest", "")), _digest(secret)):
        return None
    return _of(row)


def accept(*, token: str, username: str, password: str) -> User:
    """Makes the account and uses the link up. Raises ``NotFound`` if somebody was faster, ``Conflict`` for a name that is taken."""
    with transaction.atomic():
        hold("invitation")
        invitation = find(token)
        if invitation is None:
            raise NotFound("This link was used already, or it is older than a week. Ask for another.")
        if User.objects.filter(username__iexact=username).exists():
            raise Conflict("This name is taken. Choose another.", field="username")
        user = User.objects.create_user(username=username, password=password)
        roles.grant(user_id=user.pk, role=invitation.role, guild=invitation.guild_id, by=invitation.by)
        InstallationState.objects.filter(name=PREFIX + invitation.id).delete()
        audit.record(
            actor=audit.admin(user.pk), action="account.created", kind="account", object_id=str(user.pk)
        )
    return user


def open_ones() -> list[Invitation]:
    """Those that still work, newest first."""
    rows = InstallationState.objects.filter(name__startswith=PREFIX, at__gte=_oldest())
    return [_of(row) for row in rows.order_by("-at")[:100]]


def withdraw(*, key: str, by: str) -> None:
    """Ends an invitation that was not used. Raises ``NotFound``."""
    with transaction.atomic():
        gone, _ = InstallationState.objects.filter(name=PREFIX + key).delete()
        if not gone:
            raise NotFound("This invitation was used or withdrawn already.")
        audit.record(actor=by, action="account.uninvited", kind="invitation", object_id=key)


def _of(row: InstallationState) -> Invitation:
    value = row.value
    return Invitation(
        row.name.removeprefix(PREFIX), Role(value["role"]), value["guild"], str(value["by"]), row.at
    )


def _oldest() -> datetime:
    return timezone.now() - timedelta(days=DAYS)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
