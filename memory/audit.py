"""The audit: every view of personal content and every change, in a chain of hashes that shows whether it was touched.

Each entry's hash is SHA-256 over the hash before it and its own fields, so that a changed, removed or inserted entry breaks the
chain from there on. The head's keyed seal guards the end: whoever can write to the database, but does not have the privacy key,
can neither cut the last entries off nor compute the chain anew.

An erased member stays unnamed without a change to any entry: a person of Discord's is written as the keyed pseudonym that
receipts of erasures use, and ids of private conversations are left out. What remains after an erasure are digits that lead to
nobody without both the key and the member's id, and ids of rows that are gone. So the chain never has to be rewritten, and
entries are kept for good.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC

from django.db import transaction
from django.utils import timezone

from memory.conf import get_config
from memory.models import AuditEntry, AuditHead, Guild
from memory.pseudonyms import subject_hash

COMMAND = "command"
"""The actor of what is done on the command line."""
BATCH = 2000


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether the chain is whole; ``broken_at`` is the number of the first entry that does not fit, and ``reason`` why."""

    entries: int
    last_hash: str
    broken_at: int | None = None
    reason: str = ""

    @property
    def whole(self) -> bool:
        return self.broken_at is None


def admin(account_id: int | None) -> str:
    """The actor for an account of the dashboard."""
    return f"admin:{account_id or 0}"


def member(user_id: int) -> str:
    """The actor for a person of Discord's."""
    return f"member:{subject_hash(user_id)}"


def key(key_id: int) -> str:
    """The actor for a key of the API."""
    return f"key:{key_id}"


def record(
    *,
    actor: str,
    action: str,
    kind: str,
    object_id: str = "",
    guild: int | None = None,
    result: str = "ok",
    counts: Mapping[str, int] | None = None,
) -> None:
    """Adds an entry, in the caller's transaction if there is one: what is rolled back was not done.

    ``actor`` is of ``admin()``, ``member()`` or ``key()``, or ``COMMAND``; ``action`` a stable code such as ``memory.viewed``;
    ``object_id`` an id of ours (for a member ``subject_hash``), never one that Discord gave a person; ``guild`` Discord's id
    of the server. Raises what the database raises: whoever shows content must not show it then.
    """
    with transaction.atomic():
        head = _locked_head()
        entry = AuditEntry(
            number=head.number + 1,
            at=timezone.now(),
            actor=actor[:60],
            action=action[:40],
            kind=kind[:30],
            object_id=object_id.replace("\0", "")[:64],  # from an address; no database but SQLite holds a NUL
            guild=_public(guild),
            result=result[:20],
            counts=dict(counts or {}),
        )
        entry.hash = entry_hash(head.hash, entry)
        entry.save()
        head.number, head.hash = entry.number, entry.hash
        head.seal = _seal(head)
        head.save(update_fields=["number", "hash", "seal", "doubted_at"])


def entry_hash(previous: str, entry: AuditEntry) -> str:
    """SHA-256, as 64 hexadecimal digits, over the hash before it and the entry's fields as compact JSON."""
    fields = [previous, *canonical(entry).values()]
    plain = json.dumps(fields, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()


def canonical(entry: AuditEntry) -> dict[str, object]:
    """The fields that are hashed, in their order. Ids of servers are strings: not every JSON reader holds 64 bits."""
    return {
        "number": entry.number,
        "at": entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        "actor": entry.actor,
        "action": entry.action,
        "kind": entry.kind,
        "object_id": entry.object_id,
        "guild": None if entry.guild is None else str(entry.guild),
        "result": entry.result,
        "counts": entry.counts,
    }


def verify() -> Verification:
    """Computes the chain anew, from the first entry to the head."""
    # One read transaction would pin the write-ahead log for as long as this takes; the head as it is now is enough.
    head = AuditHead.objects.first()
    end = head.number if head else 0
    previous, number = "", 0
    for entry in entries(until=end):
        number += 1
        if entry.number != number:
            return Verification(number - 1, previous, number, "An entry is missing.")
        if not hmac.compare_digest(entry.hash, entry_hash(previous, entry)):
            return Verification(number - 1, previous, number, "This entry, or one before it, was changed.")
        previous = entry.hash
    return _against_head(head, number, previous)


def entries(*, until: int | None = None) -> Iterator[AuditEntry]:
    """All entries, the first first, up to a number; read in batches."""
    last = 0
    while True:
        rows = AuditEntry.objects.filter(number__gt=last)
        if until is not None:
            rows = rows.filter(number__lte=until)
        batch = list(rows.order_by("number")[:BATCH])
        yield from batch
        if len(batch) < BATCH:
            return
        last = batch[-1].number


def _against_head(head: AuditHead | None, number: int, last_hash: str) -> Verification:
    if head is None:
        if AuditEntry.objects.exists():
            return Verification(0, "", 1, "The end of the chain is not recorded any more.")
        return Verification(0, "")
    if head.doubted_at is not None:
        reason = "The record of the chain's end was lost or forged before this entry; entries may be missing."
        return Verification(number, last_hash, head.doubted_at, reason)
    if number < head.number:
        return Verification(number, last_hash, number + 1, "The last entries are missing.")
    if head.hash != last_hash or not hmac.compare_digest(head.seal, _seal(head)):
        return Verification(number, last_hash, number, "The seal on the last entry is not ours.")
    return Verification(number, last_hash)


def _locked_head() -> AuditHead:
    """Where the chain ends, for this transaction alone. SQLite's transactions are one at a time as it is."""
    head = AuditHead.objects.select_for_update().filter(pk=1).first()
    if head is None:
        AuditHead.objects.bulk_create([AuditHead(pk=1)], ignore_conflicts=True)
        head = AuditHead.objects.select_for_update().get(pk=1)
    if head.number == 0:
        last = AuditEntry.objects.order_by("-number").first()
        if last is not None:
            head.number, head.hash, head.doubted_at = last.number, last.hash, last.number + 1
    elif head.doubted_at is None and not hmac.compare_digest(head.seal, _seal(head)):
        # The chain goes on, since nothing may be shown without an entry, but never again as if nothing had happened.
        head.doubted_at = head.number + 1
    return head


def _seal(head: AuditHead) -> str:
    secret = get_config().privacy_key.get_secret_value()
    return hmac.new(secret, f"audit:{head.number}:{head.hash}".encode(), hashlib.sha256).hexdigest()


def _public(guild: int | None) -> int | None:
    """A server's id. A private conversation has one too, which stands for a person and is left out."""
    if guild is None or not Guild.objects.filter(discord_id=guild).exclude(kind=Guild.Kind.DM).exists():
        return None
    return guild
