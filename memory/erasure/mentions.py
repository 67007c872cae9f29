"""Other people's messages that name an erased person by id: the name goes, their words stay."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection, transaction

from memory import outbox, removal
from memory.backends import text_index
from memory.erasure import steps
from memory.erasure.needles import Needle
from memory.index.sql import position
from memory.models import Member, Message

CHUNK = 5_000
BATCH = 100


def naming(user_id: int) -> Iterator[list[int]]:
    """Keys of messages whose text or record holds the id, or that they wrote. Reads in chunks and locks nothing."""
    needle = Needle(user_id)
    table = Message._meta.db_table
    wanted = " OR ".join(
        ["author_id = %s"]
        + [
            f"{position(column)} > 0"
            for column in ("text", "content", "captions", "author_name")
            for _ in needle.texts
        ]
    )
    values: list[int | str] = [user_id, *(needle.texts * 4)]
    after = -1
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT max(key) FROM (SELECT key FROM {table} WHERE key > %s ORDER BY key LIMIT {CHUNK}) AS chunk",
                [after],
            )
            last = cursor.fetchone()[0]
            if last is None:
                return
            cursor.execute(
                f"SELECT key FROM {table} WHERE key > %s AND key <= %s AND ({wanted})", [after, last, *values]
            )
            found = [int(row[0]) for row in cursor.fetchall()]
        after = last
        if found:
            yield found


def scrub(user_id: int) -> int:
    """Takes the person's id out of what others wrote, a batch a transaction; returns how many messages changed."""
    changed = 0
    for found in naming(user_id):
        for start in range(0, len(found), BATCH):
            with transaction.atomic():
                changed += _scrub(user_id, found[start : start + BATCH])
    return changed


def _scrub(user_id: int, keys: list[int]) -> int:
    if Member.objects.filter(user_id=user_id, withdrawn_at=None).exists():
        return 0  # opted in again meanwhile
    needle = Needle(user_id)
    rows = list(Message.objects.filter(key__in=keys).select_related("member"))
    theirs = [row.key for row in rows if row.author_id == user_id]
    if theirs:
        steps.erase_keys(theirs, removal.BATCH)
    rows = [row for row in rows if row.author_id != user_id]
    text_index().remove([row.key for row in rows])
    for row in rows:
        before = row.text, row.captions
        row.text, row.captions = needle.scrub_text(row.text), needle.scrub_text(row.captions)
        row.author_name = needle.scrub_text(row.author_name)
        row.content = needle.scrub_record(row.content)
        if before != (row.text, row.captions) and row.embedding != Message.Embedding.NONE:
            # The old vector serves until the new one replaces it.
            row.embedding = Message.Embedding.PENDING
            outbox.enqueue("embed", [row.key], user_id=row.member_id, epoch=row.member.epoch)
    Message.objects.bulk_update(
        rows, ["text", "captions", "author_name", "content", "embedding"], batch_size=50
    )
    text_index().add([row.key for row in rows])
    return len(keys)
