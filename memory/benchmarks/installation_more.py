"""What an installation has beside memories: replies, facts, core memory, erasures, work, histories, documents."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TypeVar

from django.db import connection, models, transaction
from django.utils import timezone

from memory import audit
from memory.benchmarks.installation_rows import FIRST_MEMBER, member_id
from memory.benchmarks.invented import Talk
from memory.llm.local import LocalEmbedder
from memory.models import (
    ArchivalEntry,
    BlockRevision,
    ConsentEvent,
    Document,
    DocumentVersion,
    ErasureRequest,
    Fact,
    FactVersion,
    Guild,
    MemoryBlock,
    Message,
    OutboxEntry,
    Reply,
    ReplyMemory,
    Scan,
    Scope,
)
from memory.rag import spaces, store
from memory.rag.chunking import Chunk as Piece

REPLIES_A_MEMBER = 2
FACTS_A_MEMBER = 2
MEMORIES_A_REPLY = 3
ONE_IN = 10
"""Of as many members one was erased, and one piece of work failed."""
PASSAGES_A_DOCUMENT = 2
START = datetime(2024, 6, 1, tzinfo=UTC)

Progress = Callable[[str], None]
Row = TypeVar("Row", bound=models.Model)


def fill(members: int, documents: int, progress: Progress) -> None:
    progress("adding replies, facts and core memory")
    talk = Talk(seed=2)
    _replies(members * REPLIES_A_MEMBER)
    _facts(members * FACTS_A_MEMBER, members, talk)
    _core_memory(members, talk)
    _records(members)
    progress(f"adding {documents:,} documents")
    _documents(documents, talk)


def _create(model: type[Row], rows: Iterable[Row]) -> None:
    rows = iter(rows)
    while some := list(islice(rows, 2_000)):
        with transaction.atomic():
            model._default_manager.bulk_create(some, batch_size=500)


def _moment(number: int) -> datetime:
    return START + timedelta(minutes=7 * number)


def _replies(count: int) -> None:
    chosen, around = _asked(count)
    ids = [uuid.UUID(int=number + 1) for number in range(len(chosen))]

    def replies() -> Iterator[Reply]:
        for number, (key, guild, channel, member) in enumerate(chosen):
            yield Reply(
                id=ids[number],
                guild_id=guild,
                channel_id=channel,
                asker_id=member,
                trigger_id=member_id(0) + 10**15 + number,
                question_id=key,
                state=Reply.State.DONE,
                kind="model",
                model="ollama:benchmark",
                prompt_tokens=900,
                reply_tokens=80,
                timings={"recall": 12.0, "prompt": 3.0, "first_token": 400.0, "total": 2_500.0},
                created_at=_moment(number),
            )

    def memories() -> Iterator[ReplyMemory]:
        for number, keys in enumerate(around):
            for rank, key in enumerate(keys, 1):
                yield ReplyMemory(reply_id=ids[number], message_id=key, rank=rank, score=1.0, scores={})

    _create(Reply, replies())
    _create(ReplyMemory, memories())


def _asked(count: int) -> tuple[list[tuple[int, int, int, int]], list[list[int]]]:
    """Messages that were answered (key, server, channel, member), all over, and the keys of the memories that each answer used."""
    chosen: list[tuple[int, int, int, int]] = []
    around: list[list[int]] = []
    step = max(Message.objects.count() // count, MEMORIES_A_REPLY + 1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT key, guild_id, channel_id, member_id FROM memory_message ORDER BY key")
        while len(chosen) < count and (rows := cursor.fetchmany(step)):
            chosen.append(rows[0])
            around.append([row[0] for row in rows[1 : MEMORIES_A_REPLY + 1]])
    return chosen, around


def _facts(count: int, members: int, talk: Talk) -> None:
    texts = talk.say(count).texts
    states = [Fact.State.ACTIVE] * 8 + [Fact.State.SUPERSEDED, Fact.State.QUARANTINED]

    def facts() -> Iterator[Fact]:
        for number, text in enumerate(texts):
            yield Fact(
                member_id=member_id(number % members),
                namespace="default",
                text=text,
                normal=hashlib.sha256(f"{number} {text}".encode()).hexdigest(),
                source=Fact.Source.AUTO,
                state=states[number // members % 10 if number % 7 else number % 10],
                said_at=_moment(number),
                created_at=_moment(number),
                updated_at=_moment(number),
            )

    _create(Fact, facts())
    rows = Fact.objects.order_by("id").values_list("id", "text", "created_at")
    _create(
        FactVersion,
        (FactVersion(fact_id=f, text=t, action="created", actor="model", at=at) for f, t, at in rows),
    )


def _core_memory(members: int, talk: Talk) -> None:
    texts = talk.say(members).texts

    def blocks() -> Iterator[MemoryBlock]:
        for number, text in enumerate(texts):
            yield MemoryBlock(
                scope=Scope.USER,
                scope_key=member_id(number),
                label=MemoryBlock.Label.HUMAN,
                member_id=member_id(number),
                value=text,
                limit=2_000,
                version=1,
                created_at=_moment(number),
                updated_at=_moment(number),
            )

    def entries() -> Iterator[ArchivalEntry]:
        for number, text in enumerate(texts[::2]):
            yield ArchivalEntry(
                scope_key=member_id(number * 2),
                member_id=member_id(number * 2),
                text=text,
                content_hash=hashlib.sha256(f"{number} {text}".encode()).hexdigest(),
                event_time=_moment(number),
                embedding=ArchivalEntry.Embedding.FAILED,
            )

    _create(MemoryBlock, blocks())
    rows = MemoryBlock.objects.filter(version=1).order_by("id").values_list("id", "value", "updated_at")
    actor = BlockRevision.Actor.MODEL
    _create(
        BlockRevision,
        (
            BlockRevision(block_id=b, version=1, value=v, action="append", actor_kind=actor, at=at)
            for b, v, at in rows
        ),
    )
    _create(ArchivalEntry, entries())


def _records(members: int) -> None:
    few = members // ONE_IN + 1
    subjects = [hashlib.sha256(str(number).encode()).hexdigest()[:32] for number in range(members)]
    _create(
        ConsentEvent,
        (
            ConsentEvent(subject=one, action=ConsentEvent.Action.GIVEN, at=_moment(n), origin="sample")
            for n, one in enumerate(subjects)
        ),
    )
    _create(
        ErasureRequest,
        (
            ErasureRequest(
                subject=one,
                epoch=1,
                origin=ErasureRequest.Origin.MEMBER,
                state=ErasureRequest.State.DONE,
                counts={"memories": n},
                received_at=_moment(n),
                finished_at=_moment(n),
            )
            for n, one in enumerate(subjects[:few])
        ),
    )
    _create(
        OutboxEntry,
        (
            OutboxEntry(
                kind="enrich",
                subject=n + 1,
                user_id=FIRST_MEMBER + n,
                state=OutboxEntry.State.FAILED,
                attempts=5,
                due_at=_moment(n),
                error_code="fetch_failed",
                error="The page did not answer.",
            )
            for n in range(few)
        ),
    )
    guilds = list(Guild.objects.all())
    _create(
        Scan,
        (
            Scan(
                kind=Scan.Kind.BACKFILL,
                guild=guilds[n % len(guilds)],
                state=Scan.State.DONE,
                begins_at=_moment(n),
                due_at=_moment(n),
                finished_at=_moment(n),
                scanned=1_000,
            )
            for n in range(min(few, 1_000))
        ),
    )
    for number in range(few):
        audit.record(actor="admin:1", action="view", kind="member", object_id=subjects[number])


def _documents(count: int, talk: Talk) -> None:
    """Ready documents of some passages, with words and with vectors of the built-in embedder's space."""
    space = spaces.Space.of(LocalEmbedder().identity())
    with transaction.atomic():
        spaces.serve(space)
    for number in range(count):
        with transaction.atomic():
            _document(number, space, talk)


def _document(number: int, space: spaces.Space, talk: Talk) -> None:
    name = f"document-{number}.md"
    at = _moment(number)
    document = Document.objects.create(name=name, created_at=at, updated_at=at)
    said = talk.say(PASSAGES_A_DOCUMENT * 6)
    texts = [" ".join(said.texts[n::PASSAGES_A_DOCUMENT]) for n in range(PASSAGES_A_DOCUMENT)]
    version = DocumentVersion.objects.create(
        document=document,
        number=1,
        name=name,
        source=name,
        stored_name=f"{number:064d}",
        size=sum(map(len, texts)),
        digest=hashlib.sha256(name.encode()).hexdigest(),
        kind="markdown",
        title=f"Document {number}",
        state=DocumentVersion.State.EMBED,
        chunks_total=len(texts),
    )
    pieces = [_piece(n, text) for n, text in enumerate(texts)]
    rows = store.rows_of(version, pieces)
    store.write(version, rows)
    vectors = [(row.key, said.vectors[n], said.vectors[n]) for n, row in enumerate(rows)]
    store.write_vectors(version.pk, vectors, space, embedded=len(rows))
    DocumentVersion.objects.filter(pk=version.pk).update(
        state=DocumentVersion.State.READY, ready_at=timezone.now()
    )
    Document.objects.filter(pk=document.pk).update(active=version)


def _piece(index: int, text: str) -> Piece:
    path = (f"Part {index}",)
    return Piece(
        text=text, index=index, heading_path=path, page=None, row=None, section=0, start=0, end=len(text)
    )
