"""Single messages that were erased of people who did not withdraw: no history, no import and no restored backup brings them back."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from memory.erasure import receipts
from memory.models import ErasedMessage, Message
from memory.pseudonyms import subject_hash
from memory.removal import listed


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of the file of receipts: single messages of one member that were erased together."""

    subject: str
    epoch: int
    erased_at: datetime
    messages: list[int] = field(default_factory=list)
    """Discord's ids."""
    memories: list[int] = field(default_factory=list)
    """Keys of those that never were on Discord."""

    def to_json(self) -> dict[str, object]:
        """As it stands in the file; ids are strings."""
        return {
            "id": str(uuid.uuid4()),
            "subject": self.subject,
            "epoch": self.epoch,
            "erased_at": self.erased_at.isoformat(),
            "messages": [str(one) for one in self.messages],
            "memories": [str(one) for one in self.memories],
        }

    @classmethod
    def from_json(cls, line: dict[str, object]) -> Listed | None:
        """What a line lists; None for the receipt of an erasure. Raises ``ValueError`` for what cannot be used."""
        if "messages" not in line:
            return None
        messages, memories = line["messages"], line.get("memories", [])
        erased_at = datetime.fromisoformat(str(line.get("erased_at")))
        if not isinstance(messages, list) or not isinstance(memories, list) or erased_at.tzinfo is None:
            raise ValueError("a list of messages says which, and when they were erased")
        subject, epoch = line["subject"], line["epoch"]
        if not isinstance(subject, str) or not isinstance(epoch, int):
            raise ValueError("a list of messages says whose they were")
        return cls(subject, epoch, erased_at, [int(one) for one in messages], [int(one) for one in memories])

    def here(self, user_id: int) -> QuerySet[Message]:
        """Those of its messages that are stored of the member whom ``subject`` stands for.

        A key is given again in a restored backup, so one that was stored after the erasure is another message's.
        """
        of_member = Message.objects.filter(member_id=user_id)
        without_id = of_member.filter(discord_id=None, stored_at__lte=self.erased_at)
        return of_member.filter(discord_id__in=listed(self.messages)) | without_id.filter(
            key__in=listed(self.memories)
        )


def note(keys: Collection[int], *, covered: QuerySet[Message] | None = None) -> None:
    """Notes messages that are about to be removed, in the transaction that removes them.

    Left out are those of whoever has withdrawn, who is asked for no history, and ``covered`` ones, which a note for a whole part
    keeps out.
    """
    rows = Message.objects.filter(key__in=listed(keys), member__withdrawn_at=None)
    found = {row[0]: row[1:] for row in rows.values_list("key", "discord_id", "member_id", "member__epoch")}
    if found and covered is not None:
        for key in covered.filter(key__in=listed(found)).values_list("key", flat=True):
            del found[key]
    lists: dict[int, Listed] = {}
    now = timezone.now()
    for key, (discord_id, member_id, epoch) in found.items():
        one = lists.setdefault(member_id, Listed(subject_hash(member_id), epoch, now))
        if discord_id is None:
            one.memories.append(key)
        else:
            one.messages.append(discord_id)
    # Before the transaction ends: what is in the file and was not erased after all, its owner or an admin has asked for anyway.
    for one in lists.values():
        new = keep(one.subject, one.messages)
        if new or one.memories:
            receipts.append_line(replace(one, messages=new).to_json())


def keep(subject: str, message_ids: Sequence[int]) -> list[int]:
    """Keeps these messages of a member from coming back; returns those that were not kept from it before."""
    new = unknown(subject, message_ids)
    rows = [ErasedMessage(subject=subject, message_id=one) for one in new]
    ErasedMessage.objects.bulk_create(rows, ignore_conflicts=True, batch_size=300)
    return new


def unknown(subject: str, message_ids: Sequence[int]) -> list[int]:
    """Those of these messages that nothing keeps from coming back."""
    rows = ErasedMessage.objects.filter(subject=subject, message_id__in=listed(message_ids))
    known = set(rows.values_list("message_id", flat=True))
    return [one for one in dict.fromkeys(message_ids) if one not in known]
