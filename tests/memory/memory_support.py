"""Steps that tests of capture, embedding and erasure share."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from django.db import connection
from django.utils import timezone

from memory import capture, consent, embedding, erasure, outbox, tasks
from memory.backends import text_index, vector_index
from memory.erasure.files import written_files
from memory.index.base import Vector
from memory.index.pages import files_that_hold
from memory.models import ErasureRequest, Message, OutboxEntry
from memory.types import Person
from tests.factories import incoming, person


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
    """Names of the files of the installation that hold any of these bytes."""
    paths = [path for _, path in written_files() if path.is_file()]
    return [path.name for path in files_that_hold(paths, needles)]


def database() -> Path:
    return Path(connection.settings_dict["NAME"])


def message(key: int) -> Message:
    return Message.objects.get(key=key)
