"""Roles of the dashboard's accounts: given and taken away, each time with an entry in the audit.

What a role may do is decided in ``musebot_site.dashboard.permissions``; here stands who has it, and on which servers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from memory import audit
from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import Guild, Role, RoleGrant

EVERYWHERE = frozenset({Role.OWNER, Role.PRIVACY})
"""Roles that cannot be limited to some servers: what they see has no server."""
LAST_OWNER = "This is the last owner. Make somebody else an owner first."


@dataclass(frozen=True, slots=True)
class Held:
    """What one account holds. ``servers`` maps a role to Discord's ids of its servers, or to None for all of them."""

    owner: bool = False
    servers: tuple[tuple[Role, frozenset[int] | None], ...] = ()

    @property
    def roles(self) -> frozenset[Role]:
        given = frozenset(role for role, _ in self.servers)
        return given | {Role.OWNER} if self.owner else given


def held(user_id: int) -> Held:
    """The roles of an account, active or not. The account that ``createsuperuser`` or the first link made is an owner."""
    owner = bool(User.objects.filter(pk=user_id, is_superuser=True).exists())
    places: dict[Role, set[int]] = {}
    rows = RoleGrant.objects.filter(account_id=user_id)
    for name, server in rows.values_list("role", "server"):
        places.setdefault(Role(name), set()).add(server)
    owner = owner or Role.OWNER in places
    return Held(owner, tuple((role, None if 0 in ids else frozenset(ids)) for role, ids in places.items()))


def grant(*, user_id: int, role: Role, guild: int | None, by: str) -> None:
    """Gives an account a role on one server, or on all; again is no error. ``by`` is an actor of the audit.

    Raises ``NotFound`` for an account or a server that there is not, and ``InvalidInput`` for a role that has no server.
    """
    check(role=role, guild=guild)
    with transaction.atomic():
        _account(user_id)
        _, new = RoleGrant.objects.get_or_create(
            account_id=user_id,
            role=role,
            server=guild or 0,
            origin=RoleGrant.Origin.HAND,
            defaults={"granted_by": by},
        )
        if new:
            _record(by, "role.granted", user_id, role, guild)


def check(*, role: Role, guild: int | None) -> None:
    """Raises what ``grant`` does for a role that cannot be given there."""
    if guild is None:
        return
    if role in EVERYWHERE:
        raise InvalidInput(f"{role.label} is a role for all servers.", field="guild")
    if not _servers().filter(discord_id=guild).exists():
        raise NotFound("There is no such server.", field="guild")


def revoke(*, user_id: int, role: Role, guild: int | None, by: str) -> None:
    """Takes away a role that was given by hand on that server, or that for all.

    Raises ``NotFound`` if the account does not have it so, and ``Conflict`` for the last owner.
    """
    with transaction.atomic():
        account = _account(user_id)
        rows = RoleGrant.objects.filter(
            account_id=user_id, role=role, server=guild or 0, origin=RoleGrant.Origin.HAND
        )
        removed, _ = rows.delete()
        if role == Role.OWNER and account.is_superuser:
            account.is_superuser = account.is_staff = False
            account.save(update_fields=["is_superuser", "is_staff"])
            removed += 1
        if not removed:
            raise NotFound("This account does not have this role.")
        if role == Role.OWNER and not owners().exists():
            raise Conflict(LAST_OWNER)
        _record(by, "role.revoked", user_id, role, guild)


def set_discord_moderator(*, user_id: int, guild_ids: Iterable[int]) -> None:
    """Makes the account moderator of exactly these servers as far as Discord is concerned.

    Roles that were given by hand stay. Servers that the bot does not know are left out.
    """
    wanted = set(_servers().filter(discord_id__in=set(guild_ids)).values_list("discord_id", flat=True))
    with transaction.atomic():
        _account(user_id)
        rows = RoleGrant.objects.filter(account_id=user_id, origin=RoleGrant.Origin.DISCORD)
        there = set(rows.values_list("server", flat=True))
        rows.filter(server__in=there - wanted).delete()
        RoleGrant.objects.bulk_create(
            RoleGrant(
                account_id=user_id,
                role=Role.MODERATOR,
                server=server,
                origin=RoleGrant.Origin.DISCORD,
                granted_by="discord",
            )
            for server in sorted(wanted - there)
        )
        for server in sorted(wanted - there):
            _record("discord", "role.granted", user_id, Role.MODERATOR, server)
        for server in sorted(there - wanted):
            _record("discord", "role.revoked", user_id, Role.MODERATOR, server)


def deactivate(*, user_id: int, by: str) -> None:
    """Shuts an account out at once. Raises ``Conflict`` for the last owner."""
    with transaction.atomic():
        account = _account(user_id)
        if not account.is_active:
            return
        account.is_active = False
        account.save(update_fields=["is_active"])
        if not owners().exists():
            raise Conflict(LAST_OWNER)
        audit.record(actor=by, action="account.deactivated", kind="account", object_id=str(user_id))


def activate(*, user_id: int, by: str) -> None:
    """Lets an account in again, with the roles that it had."""
    with transaction.atomic():
        account = _account(user_id)
        if account.is_active:
            return
        account.is_active = True
        account.save(update_fields=["is_active"])
        audit.record(actor=by, action="account.activated", kind="account", object_id=str(user_id))


def owners() -> QuerySet[User]:
    """Active accounts that may do everything."""
    return User.objects.filter(
        Q(is_superuser=True) | Q(role_grants__role=Role.OWNER), is_active=True
    ).distinct()


def _account(user_id: int) -> User:
    # Locked where the database can: two owners who remove each other at once must not both succeed.
    list(User.objects.select_for_update().filter(is_active=True).values_list("pk", flat=True)[:1000])
    account = User.objects.filter(pk=user_id).first()
    if account is None:
        raise NotFound("There is no such account.")
    return account


def _servers() -> QuerySet[Guild]:
    return Guild.objects.filter(kind=Guild.Kind.GUILD)


def _record(by: str, action: str, user_id: int, role: Role, guild: int | None) -> None:
    audit.record(
        actor=by, action=f"{action}.{role.value}", kind="account", object_id=str(user_id), guild=guild
    )
