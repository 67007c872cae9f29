"""What the audit says about the use of a page. The guard of each route writes it; views add what only they know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from memory import audit
from memory.pseudonyms import subject_hash


def note(
    request: HttpRequest,
    *,
    action: str | None = None,
    kind: str | None = None,
    object_id: str | None = None,
    guild: int | None = None,
    counts: Mapping[str, int] | None = None,
    result: str | None = None,
) -> None:
    """Adds to the entry that the route's guard writes: another action, the object, its server, how many there were.

    ``object_id`` is an id of ours; for a member use ``member_id``. ``guild`` is Discord's id of the object's server, 0 for none.
    """
    kept: dict[str, Any] = getattr(request, "_note", {})
    given = {
        "action": action,
        "kind": kind,
        "object_id": object_id,
        "guild": guild,
        "counts": counts,
        "result": result,
    }
    request._note = {**kept, **{name: value for name, value in given.items() if value is not None}}  # type: ignore[attr-defined]


def about(request: HttpRequest, guild: int | None) -> None:
    """Which server a list is about; the page of one object says that by ``note``."""
    request._about = guild  # type: ignore[attr-defined]


def member_id(user_id: int) -> str:
    """What stands for a member in the audit."""
    return subject_hash(user_id)


def actor(request: HttpRequest) -> str:
    """The account that asks, as the audit names it; kept, since a view may sign it out."""
    kept: str | None = getattr(request, "_actor", None)
    if kept is None:
        kept = audit.admin(getattr(getattr(request, "user", None), "pk", None))
        request._actor = kept  # type: ignore[attr-defined]
    return kept


def write(request: HttpRequest, action: str, arguments: Mapping[str, Any], *, result: str = "ok") -> None:
    """One entry for this request, unless neither the route nor the view named an action."""
    noted: dict[str, Any] = getattr(request, "_note", {})
    action = noted.get("action") or action
    if not action:
        return
    audit.record(
        actor=actor(request),
        action=action,
        kind=noted.get("kind") or action.partition(".")[0],
        object_id=noted["object_id"] if "object_id" in noted else _object(arguments),
        guild=_server(request, noted, arguments),
        result=noted.get("result", result) if result == "ok" else result,
        counts=noted.get("counts"),
    )


def _server(request: HttpRequest, noted: Mapping[str, Any], arguments: Mapping[str, Any]) -> int | None:
    if "guild" in noted:
        return noted["guild"] or None
    of_list = None if arguments else getattr(request, "_about", None)
    server: int | None = arguments.get("guild_id", of_list)
    return server


def _object(arguments: Mapping[str, Any]) -> str:
    """The id in the address. A member's is never written as it is."""
    if "user_id" in arguments:
        return member_id(arguments["user_id"])
    ids = (value for name, value in arguments.items() if name != "guild_id")
    return str(next(ids, ""))
