"""Keys of this API."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router, Status

from memory import access
from memory.models import ApiKey
from musebot_site.api.auth import ADMIN
from musebot_site.api.schemas import REFUSALS, Id, KeyIn, KeyOut, KeysOut, NewKeyOut, Problem

router = Router(tags=["keys"])


@router.get("keys", auth=ADMIN, response={200: KeysOut, REFUSALS: Problem})
def list_keys(request: HttpRequest) -> KeysOut:
    """All keys, newest first, without the keys themselves."""
    return KeysOut(results=[KeyOut(**_fields(row)) for row in access.all_keys()])


@router.post("keys", auth=ADMIN, response={201: NewKeyOut, REFUSALS: Problem})
def create_key(request: HttpRequest, body: KeyIn) -> Status[NewKeyOut]:
    """Makes a key and shows it, this once."""
    row, key = access.make_key(name=body.name, scopes=body.scopes, guild_ids=body.guild_ids)
    return Status(201, NewKeyOut(key=key, **_fields(row)))


@router.delete("keys/{key_id}", auth=ADMIN, response={200: KeyOut, REFUSALS: Problem})
def revoke_key(request: HttpRequest, key_id: Id) -> KeyOut:
    """Ends a key at once. It stays in the list, as revoked."""
    return KeyOut(**_fields(access.revoke_key(key_id=key_id)))


def _fields(row: ApiKey) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "prefix": row.prefix,
        "scopes": row.scopes,
        "guild_ids": row.guilds,
        "created_at": row.created_at,
        "last_used_at": row.last_used_at,
        "revoked_at": row.revoked_at,
    }
