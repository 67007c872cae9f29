"""Keys of the API: made, checked and revoked. Only a hash is stored; what a key may do are its scopes, and where, its servers."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from memory.errors import InvalidInput, NotFound
from memory.models import ApiKey, Guild

SCOPES = {
    "read": "see memories, members, jobs and traces, and recall",
    "ask": "ask the bot",
    "write": "add facts, and documents of all kinds",
    "erase": "erase memories, facts and members",
    "admin": "everything, and make and revoke keys",
}
PREFIX = "mb_"
MAX_LENGTH = 200
USED_EVERY = timedelta(minutes=1)
"""How exact ``last_used_at`` is: a write for every request would hold up the one writer."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a key allows."""

    key_id: int
    name: str
    scopes: frozenset[str]
    servers: frozenset[int] | None = None
    """Discord's ids of the servers that it is limited to; None for no limit."""

    def allows(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def reaches(self, guild_id: int | None) -> bool:
        """Whether it may be used for this server; a limited key reaches nothing that belongs to none."""
        return self.servers is None or guild_id in self.servers


def make_key(
    *, name: str, scopes: Iterable[str] = ("admin",), guild_ids: Iterable[int] | None = None
) -> tuple[ApiKey, str]:
    """Makes a key; the second value is the key itself, which cannot be had again. ``guild_ids`` are Discord's, of the servers
    that it is limited to (None: no limit).

    Raises ``InvalidInput`` for an empty name, and for a scope or a server that does not exist.
    """
    name, wanted = name.strip(), sorted(set(scopes))
    if not name or len(name) > 100 or not name.isprintable():
        raise InvalidInput("A key needs a name of 1 to 100 printable characters.", field="name")
    unknown = [scope for scope in wanted if scope not in SCOPES]
    if unknown or not wanted:
        raise InvalidInput(f"Scopes are {', '.join(SCOPES)}; name one or more of them.", field="scopes")
    servers = None if guild_ids is None else _servers(set(guild_ids), wanted)
    key = PREFIX + secrets.token_urlsafe(32)
    row = ApiKey.objects.create(
        name=name, prefix=key[: len(PREFIX) + 6], digest=_digest(key), scopes=wanted, guilds=servers
    )
    return row, key


def _servers(ids: set[int], scopes: list[str]) -> list[str]:
    """As they are stored: ids as text, since not every JSON reader holds 64 bits."""
    if "admin" in scopes:
        raise InvalidInput("A key that may do everything cannot be limited to servers.", field="guild_ids")
    known = Guild.objects.filter(discord_id__in=ids, kind=Guild.Kind.GUILD).values_list(
        "discord_id", flat=True
    )
    if not ids or set(known) != ids:
        raise InvalidInput("Name one or more servers that the bot is on.", field="guild_ids")
    return [str(one) for one in sorted(ids)]


def check_key(key: str) -> Access | None:
    """What this key allows, or None for one that is unknown or revoked."""
    if not key.startswith(PREFIX) or len(key) > MAX_LENGTH or not key.isascii():
        return None
    digest = _digest(key)
    # Found by the hash of 256 random bits: how long that takes tells nothing about the key.
    row = ApiKey.objects.filter(digest=digest, revoked_at=None).first()
    if row is None or not hmac.compare_digest(row.digest, digest):
        return None
    now = timezone.now()
    if row.last_used_at is None or row.last_used_at < now - USED_EVERY:
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USED_EVERY)
        ApiKey.objects.filter(stale, id=row.id).update(last_used_at=now)
    return Access(row.id, row.name, frozenset(row.scopes), servers_of(row))


def servers_of(row: ApiKey) -> frozenset[int] | None:
    """Discord's ids of the servers that a key is limited to; None for no limit."""
    return None if row.guilds is None else frozenset(map(int, row.guilds))


def revoke_key(*, key_id: int) -> ApiKey:
    """Ends a key at once; one that was revoked before stays as it is. Raises ``NotFound``."""
    row = ApiKey.objects.filter(id=key_id).first()
    if row is None:
        raise NotFound("There is no such key.")
    if row.revoked_at is None:
        row.revoked_at = timezone.now()
        row.save(update_fields=["revoked_at"])
    return row


def all_keys() -> list[ApiKey]:
    """All keys, newest first."""
    return list(ApiKey.objects.order_by("-id"))


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
