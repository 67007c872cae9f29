"""What the audit says about the use of the API: one entry for each request with a known key, written before the answer is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from memory import audit
from memory.access import Access
from memory.pseudonyms import subject_hash

ACTIONS = {
    ("POST", "ask"): "api.asked",
    ("POST", "recall"): "memory.searched",
    ("GET", "memories"): "memory.listed",
    ("DELETE", "memories/<memory_id>"): "memory.erased",
    ("GET", "members/<user_id>"): "member.viewed",
    ("GET", "members/<user_id>/export"): "member.exported",
    ("GET", "members/<user_id>/blocks/<label>"): "core_memory.viewed",
    ("PUT", "members/<user_id>/blocks/<label>"): "core_memory.changed",
    ("GET", "members/<user_id>/facts"): "fact.listed",
    ("POST", "members/<user_id>/facts"): "fact.added",
    ("DELETE", "members/<user_id>/facts"): "fact.forgotten",
    ("DELETE", "members/<user_id>/facts/<fact_id>"): "fact.forgotten",
    ("POST", "erasures"): "erasure.requested",
    ("GET", "replies/<trace_id>"): "reply.viewed",
    ("POST", "documents"): "document.uploaded",
    ("PUT", "documents/<document_id>"): "document.changed",
    ("DELETE", "documents/<document_id>"): "document.deleted",
    ("POST", "keys"): "key.made",
    ("DELETE", "keys/<key_id>"): "key.revoked",
}
UNRECORDED = {
    ("POST", "retrieve"),
    ("GET", "documents"),
    ("GET", "documents/<document_id>"),
    ("GET", "erasures/<erasure_id>"),
    ("GET", "jobs"),
    ("GET", "keys"),
}
"""Routes that show nothing of a person."""
RESULTS = {403: "denied", 404: "not_found", 409: "conflict", 422: "invalid_input"}


def write(request: HttpRequest, arguments: Mapping[str, Any], response: HttpResponseBase) -> None:
    """One entry, if a key that is known asked and the route is one of ``ACTIONS``."""
    access: Access | None = getattr(request, "musebot_key", None)
    match = request.resolver_match
    if access is None or match is None:
        return
    action = ACTIONS.get((request.method or "", match.route.removeprefix("api/v1/")))
    if action is None:
        return
    if action == "memory.listed" and request.GET.get("q"):
        action = "memory.searched"
    kind, object_id = _object(action, arguments)
    audit.record(
        actor=audit.key(access.key_id),
        action=action,
        kind=kind,
        object_id=object_id,
        guild=_guild(request),
        result="ok" if response.status_code < 400 else RESULTS.get(response.status_code, "failed"),
    )


def _object(action: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """Kind and id of what the address names. A member's id is never written as it is."""
    kind = action.partition(".")[0]
    others = [str(value) for name, value in arguments.items() if name not in {"user_id", "label"}]
    if others:
        return kind, others[0]
    user_id = str(arguments.get("user_id", ""))
    if not (user_id.isascii() and user_id.isdecimal() and len(user_id) < 20):
        return kind, ""
    return "member", subject_hash(int(user_id))


def _guild(request: HttpRequest) -> int | None:
    text = request.GET.get("guild_id", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
