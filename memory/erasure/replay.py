"""Bringing a restored backup up to date with what was erased after it was made."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction

from memory.erasure import kept_out
from memory.erasure.kept_out import Listed
from memory.erasure.parts import Part
from memory.erasure.receipts import append_line, read
from memory.erasure.requests import keep_range, request
from memory.erasure.running import run
from memory.erasure.services import erase_messages
from memory.models import ErasedRange, ErasureRequest, Member, SubjectEpoch
from memory.pseudonyms import subject_hash


@dataclass(frozen=True, slots=True)
class Kept:
    """A receipt, as far as it is needed here."""

    id: UUID
    subject: str
    epoch: int
    part: Part | None


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was done, or would be."""

    receipts: int
    """Receipts that were read."""
    members: int
    """Members of whom everything was erased again."""
    parts: int
    """Parts of what is stored of members that were erased again."""
    ranges: int
    """Parts that are kept from coming back, and were not known here."""
    messages: int = 0
    """Single messages that were erased again."""
    messages_kept_out: int = 0
    """Single messages that are kept from coming back, and were not known here."""
    unfinished: int = 0
    """Of the erasures, those that a worker has still to end."""
    unreadable: int = 0

    @property
    def erased(self) -> int:
        return self.members + self.parts + self.messages


def replay_receipts() -> int:
    """After a restored backup: erases again what receipts say was erased since; returns how many erasures there were."""
    return replay().erased


def replay(path: Path | None = None, *, dry_run: bool = False) -> Replayed:
    """Reads receipts (this installation's if no file is given) and erases again what is here under an older epoch than theirs.

    What is up to date already is left alone, so doing it twice does nothing twice. With ``dry_run`` nothing is written.
    """
    lines = list(read(path))
    usable = [kept for kept in map(_kept, lines) if kept is not None]
    receipts = [one for one in usable if isinstance(one, Kept)]
    lists = [one for one in usable if isinstance(one, Listed)]
    work = _outdated(receipts)
    missing = _missing_ranges(receipts)
    again = _again(lists, {user_id for user_id, part in work if part is None})
    unknown = _unknown(lists)
    unfinished = 0
    if not dry_run:
        unfinished = _erase(usable, work, missing, unknown)
        if path is not None:
            for one in unknown:
                append_line(one.to_json())  # this installation's own file has to hold them from now on
        erase_messages(again)
    return Replayed(
        receipts=len(usable),
        members=sum(part is None for _, part in work),
        parts=sum(part is not None for _, part in work),
        ranges=len(missing),
        messages=len(again),
        messages_kept_out=sum(len(one.messages) for one in unknown),
        unfinished=unfinished,
        unreadable=len(lines) - len(usable),
    )


def _kept(line: dict[str, Any]) -> Kept | Listed | None:
    try:
        if (listed := Listed.from_json(line)) is not None:
            return listed
        part = Part.from_json(line["part"]) if "part" in line else None
        return Kept(UUID(str(line["id"])), line["subject"], line["epoch"], part)
    except (KeyError, ValueError, TypeError):
        return None


def _outdated(receipts: Iterable[Kept]) -> list[tuple[int, Part | None]]:
    """Whom to erase again: everything where that was erased, otherwise the parts that were."""
    by_subject: dict[str, list[Kept]] = {}
    for one in receipts:
        by_subject.setdefault(one.subject, []).append(one)
    found: list[tuple[int, Part | None]] = []
    if not by_subject:
        return found
    for user_id, epoch in Member.objects.order_by("user_id").values_list("user_id", "epoch"):
        later = [one for one in by_subject.get(subject_hash(user_id), ()) if one.epoch > epoch]
        if any(one.part is None for one in later):
            found.append((user_id, None))
            continue
        parts = dict.fromkeys(one.part for one in later if one.part is not None)
        found += [(user_id, part) for part in parts if part.is_there(user_id)]
    return found


def _missing_ranges(receipts: Iterable[Kept]) -> list[Kept]:
    known = set(ErasedRange.objects.values_list("request_id", flat=True))
    return [one for one in receipts if one.part and one.part.could_come_back and one.id not in known]


def _again(lists: Iterable[Listed], gone: Collection[int]) -> list[int]:
    """Keys of single messages that are here again, without those of members of whom everything goes."""
    by_subject: dict[str, list[Listed]] = {}
    for one in lists:
        by_subject.setdefault(one.subject, []).append(one)
    if not by_subject:
        return []
    found: dict[int, None] = {}
    for user_id in Member.objects.order_by("user_id").values_list("user_id", flat=True):
        if user_id not in gone:
            for one in by_subject.get(subject_hash(user_id), ()):
                found.update(dict.fromkeys(one.here(user_id).values_list("key", flat=True)))
    return list(found)


def _unknown(lists: Iterable[Listed]) -> list[Listed]:
    """The lists, less what is kept from coming back already."""
    left = [replace(one, messages=kept_out.unknown(one.subject, one.messages)) for one in lists]
    return [one for one in left if one.messages]


def _erase(
    receipts: Iterable[Kept | Listed],
    work: list[tuple[int, Part | None]],
    missing: Iterable[Kept],
    unknown: Iterable[Listed],
) -> int:
    """All are begun in one transaction: each begins a new epoch, after which the other receipts would look as if they were done."""
    epochs: dict[str, int] = {}
    for one in receipts:
        epochs[one.subject] = max(one.epoch, epochs.get(one.subject, 0))
    with transaction.atomic():
        # Work of the backup's time is refused even where the member's row was not in it.
        for subject, epoch in epochs.items():
            row, _ = SubjectEpoch.objects.get_or_create(subject=subject)
            if row.epoch < epoch:
                SubjectEpoch.objects.filter(subject=subject).update(epoch=epoch)
        for kept in missing:
            if kept.part is not None:
                keep_range(kept.subject, kept.id, kept.part)
        for listed in unknown:
            kept_out.keep(listed.subject, listed.messages)
        begun = [
            request(user_id=user_id, origin=ErasureRequest.Origin.COMMAND, part=part).id
            for user_id, part in work
        ]
    return sum(run(one).state != ErasureRequest.State.DONE for one in begun)
