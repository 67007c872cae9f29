"""Steps that tests of capture, embedding and erasure share."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from memory import capture, consent, embedding, erasure, outbox, tasks
from memory.backends import text_index, vector_index
from memory.erasure.files import written_files
from memory.index.base import Vector
from memory.index.pages import files_that_hold
from memory.models import ErasureRequest, Message, OutboxEntry
from memory.types import Person
from tests.factories import incoming, person
from tests.storage import database, stored_bytes

__all__ = [
    "database",
    "erase",
    "expire_leases",
    "files_with",
    "found_by_words",
    "message",
    "old_snapshot",
    "opted_in",
    "say",
    "vector",
    "work",
]


def opted_in(name: str = "ada", **values: object) -> Person:
    someone = person(name, **values)
    consent.give(person=someone, origin="discord")
    return someone


def say(author: Person, text: str, **values: object) -> int:
    key = capture.record_message(incoming(text, author=author, **values))
    assert key is not None
    return key


def work(kind: str = "embed") -> None:
    """Does all that is queued of a kind, as the worker would, without waiting for any back-off."""
    OutboxEntry.objects.filter(kind=kind, state="queued").update(due_at=timezone.now() - timedelta(seconds=1))
    tasks.work_through(kind)


def expire_leases() -> int:
    OutboxEntry.objects.filter(state="running").update(lease_until=timezone.now() - timedelta(seconds=1))
    return outbox.release_expired()


def found_by_words(*words: str) -> list[int]:
    return [hit.key for hit in text_index().search(None, words, 100)]


def vector(key: int) -> Vector | None:
    space = embedding.active_space()
    assert space is not None
    return vector_index(space).vectors([key]).get(key)


def erase(someone: Person | int) -> ErasureRequest:
    user_id = someone if isinstance(someone, int) else someone.id
    return erasure.run(erasure.request(user_id=user_id, origin="member").id)


def files_with(*needles: bytes) -> list[str]:
    """Names of the files of the installation that hold any of these bytes; a server's rows count as one."""
    paths = [path for _, path in written_files() if path.is_file()]
    rows = stored_bytes()
    found = ["rows"] if any(needle in rows for needle in needles) else []
    return found + [path.name for path in files_that_hold(paths, needles)]


def old_snapshot() -> BaseDatabaseWrapper:
    """Another connection that reads, and goes on seeing what it saw until it is closed."""
    reader = connection.copy()
    reader.settings_dict = {**reader.settings_dict, "OPTIONS": {**reader.settings_dict["OPTIONS"]}}
    reader.settings_dict["OPTIONS"].pop("transaction_mode", None)
    with reader.cursor() as cursor:
        cursor.execute("BEGIN" if reader.vendor == "sqlite" else "BEGIN ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT count(*) FROM memory_message")
        cursor.fetchone()
    return reader


def message(key: int) -> Message:
    return Message.objects.get(key=key)
