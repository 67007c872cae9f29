"""Who may open what: the one table of roles and permissions, and which servers a person's permission reaches.

Every route names the permission that it needs (see ``http.guarded_path``). A page about one server asks ``http.scope``, and a
page about one object ``http.require_server``; both know only the servers that are set here.
"""

from __future__ import annotations

from enum import StrEnum

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest

from memory import roles
from memory.models import Guild, Role


class Permission(StrEnum):
    """What a route needs."""

    ENTER = "enter"
    """Anything at all: to be somebody who works here."""
    FIGURES = "figures"
    MEMORIES = "memories"
    FACTS = "facts"
    FACTS_ANYWHERE = "facts_anywhere"
    """To write facts by hand: they hold on every server."""
    CORE_MEMORY = "core_memory"
    DOCUMENTS = "documents"
    REPLIES = "replies"
    PLAYGROUND = "playground"
    MEMBERS = "members"
    ERASURES = "erasures"
    AUDIT = "audit"
    EVALUATION = "evaluation"
    SERVERS = "servers"
    JOBS = "jobs"
    SETTINGS = "settings"
    KEYS = "keys"
    ACCOUNTS = "accounts"


_MODERATION = frozenset(
    {
        Permission.MEMORIES,
        Permission.FACTS,
        Permission.CORE_MEMORY,
        Permission.DOCUMENTS,
        Permission.REPLIES,
        Permission.PLAYGROUND,
    }
)
ROLES: dict[Role, frozenset[Permission]] = {
    Role.OWNER: frozenset(Permission),
    Role.MODERATOR: _MODERATION | {Permission.ENTER, Permission.FIGURES},
    Role.PRIVACY: frozenset(
        {Permission.ENTER, Permission.FIGURES, Permission.MEMBERS, Permission.ERASURES, Permission.AUDIT}
    ),
    Role.VIEWER: frozenset({Permission.ENTER, Permission.FIGURES}),
}
EVERYTHING = frozenset({Role.OWNER, Role.PRIVACY})
"""Roles whose permissions reach all servers and private conversations. A viewer's figures and a moderator's pages do not."""


class Reach:
    """How far a permission goes: everywhere, or some servers and never a private conversation."""

    def __init__(self, servers: frozenset[int] | None) -> None:
        self.servers = servers
        """Discord's ids; None for everything."""

    def __contains__(self, guild_id: int | None) -> bool:
        return self.servers is None or guild_id in self.servers


NOWHERE = Reach(frozenset())


class Rights:
    """What a person may do, read once for each request."""

    def __init__(self, user: AbstractBaseUser | AnonymousUser) -> None:
        if not (user.is_authenticated and user.is_active):
            self._held = roles.Held()
        elif getattr(user, "is_superuser", False):
            self._held = roles.Held(owner=True)  # as ``roles.held`` would say, without asking the database
        else:
            self._held = roles.held(user.pk)
        self._real: frozenset[int] | None = None

    @property
    def roles(self) -> frozenset[Role]:
        return self._held.roles

    def may(self, permission: Permission) -> bool:
        """Whether a route that needs it opens: some role has it, and it reaches something."""
        if permission is Permission.ENTER:
            return bool(self.roles)
        return self.reach(permission).servers != frozenset()

    def reach(self, permission: Permission) -> Reach:
        """Where the person has a permission; ``NOWHERE`` without it."""
        if self._held.owner:
            return Reach(None)
        found: set[int] = set()
        for role, servers in self._held.servers:
            if permission not in ROLES[role]:
                continue
            if role in EVERYTHING or (role is Role.VIEWER and servers is None):
                return Reach(None)
            found |= self._servers if servers is None else servers & self._servers
        return Reach(frozenset(found))

    @property
    def _servers(self) -> frozenset[int]:
        """All servers that there are. Neither a private conversation nor the sandbox is one."""
        if self._real is None:
            rows = Guild.objects.filter(kind=Guild.Kind.GUILD).values_list("discord_id", flat=True)
            self._real = frozenset(rows)
        return self._real


def rights(request: HttpRequest) -> Rights:
    """The rights of the one who asks; read from the database once a request."""
    kept: Rights | None = getattr(request, "_rights", None)
    if kept is None:
        kept = Rights(getattr(request, "user", AnonymousUser()))
        request._rights = kept  # type: ignore[attr-defined]
    return kept
