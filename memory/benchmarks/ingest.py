"""Documents into passages with words and vectors, compared with embedding them one at a time; and the search among many passages,
compared with asking the index each time. Embedding the question is left out of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from time import monotonic, perf_counter, sleep
from typing import Any
from unittest import mock

from django.db import transaction
from django.utils import timezone

from memory import backends
from memory.benchmarks.invented import Talk
from memory.benchmarks.questions import Given
from memory.benchmarks.scratch import scratch_database
from memory.benchmarks.timing import Stopwatch, load, medians
from memory.llm.local import LocalEmbedder
from memory.models import Chunk, Document, DocumentVersion
from memory.rag import embedding, nearness, spaces, store
from memory.rag.chunking import chunk_document
from memory.rag.loaders import load as load_file
from memory.rag.retriever import DocumentRetriever

ROWS = 10_000
VOCABULARY = 1_500
EMBEDDED = 160
"""Passages that are made of files and embedded for it; the rest get invented vectors."""
SINGLE = 10
SECTIONS = 10
MESSAGES_A_SECTION = 14
QUESTIONS = 40
LOADING_SECONDS = 20.0
MOST = 20.0
"""Milliseconds of a search, the half of all."""

Progress = Callable[[str], None]


def run(*, rows: int = ROWS, progress: Progress = lambda message: None) -> dict[str, Any]:
    """Passages a second by stage, and milliseconds of a search among ``rows`` passages."""
    with scratch_database():
        talk = Talk(seed=4, vocabulary=VOCABULARY)
        embedder = LocalEmbedder()
        space = spaces.Space.of(embedder.identity())
        with transaction.atomic():
            spaces.serve(space)
        progress(f"reading and embedding {min(EMBEDDED, rows)} passages")
        result: dict[str, Any] = {"rows": rows, "at_most_ms": MOST, "load_before": load()}
        result["ingest"] = _ingest(min(EMBEDDED, rows), embedder, space, talk)
        progress(f"adding passages, {rows:,} in all")
        _add(rows - Chunk.objects.count(), space, talk)
        result["passages"] = Chunk.objects.count()
        progress(f"asking {QUESTIONS} questions")
        result["search"] = _search(space, talk)
        return result | {"load_after": load()}


def _file(number: int, talk: Talk) -> bytes:
    """A file of Markdown with some headings."""
    parts = [f"# Handbook {number}"]
    for section in range(SECTIONS):
        said = talk.say(MESSAGES_A_SECTION).texts
        parts += [f"## Part {section}", ". ".join(said) + "."]
    return "\n\n".join(parts).encode()


def _ingest(count: int, embedder: LocalEmbedder, space: spaces.Space, talk: Talk) -> dict[str, Any]:
    reading = writing = 0.0
    rows: list[tuple[int, list[Chunk]]] = []
    while sum(len(some) for _, some in rows) < count:
        data = _file(len(rows), talk)
        began = perf_counter()
        document = load_file(data, "handbook.md")
        pieces = chunk_document(document)
        reading += perf_counter() - began
        version = _version(f"handbook-{len(rows)}.md", document.title, len(data))
        began = perf_counter()
        some = store.rows_of(version, pieces)
        store.write(version, some)
        writing += perf_counter() - began
        rows.append((version.pk, some))
    passages = sum(len(some) for _, some in rows)
    embedder.embed_documents(["the model is loaded on first use"])
    began = perf_counter()
    for version_id, some in rows:
        for start in range(0, len(some), embedding.BATCH):
            embedding.embed(version_id, some[start : start + embedding.BATCH], embedder, space)
        _ready(version_id)
    batches = perf_counter() - began
    single = [row for _, some in rows for row in some][:SINGLE]
    began = perf_counter()
    for row in single:
        # As one that knows no batches does it: in its context, alone, and each of its words.
        for text in (store.context_of(row) + row.text, row.text, *set(row.text.split())):
            embedder.embed_documents([text])
    alone = perf_counter() - began
    return {
        "documents": len(rows),
        "passages": passages,
        "read_and_cut_per_second": round(passages / reading),
        "written_per_second": round(passages / writing),
        "embedded_per_second": round(passages / batches, 1),
        "all_per_second": round(passages / (reading + writing + batches), 1),
        "one_at_a_time_per_second": round(len(single) / alone, 1),
        "ratio": round(passages / batches / (len(single) / alone), 1),
    }


def _version(name: str, title: str, size: int) -> DocumentVersion:
    document = Document.objects.create(name=name)
    return DocumentVersion.objects.create(
        document=document,
        number=1,
        name=name,
        source=name,
        stored_name=name,
        size=size,
        digest=name,
        kind="markdown",
        title=title,
        state=DocumentVersion.State.EMBED,
    )


def _ready(version_id: int) -> None:
    version = DocumentVersion.objects.get(pk=version_id)
    DocumentVersion.objects.filter(pk=version_id).update(
        state=DocumentVersion.State.READY, ready_at=timezone.now()
    )
    Document.objects.filter(pk=version.document_id).update(active=version)


def _add(count: int, space: spaces.Space, talk: Talk) -> None:
    """Passages whose vectors nobody computed, written as the others are."""
    number = 0
    while count > 0:
        document = load_file(_file(number, talk), "more.md")
        version = _version(f"more-{number}.md", document.title, document.characters)
        some = store.rows_of(version, chunk_document(document))[:count]
        vectors = talk.say(len(some)).vectors
        with transaction.atomic():
            store.write(version, some)
            pairs = [(row.key, vector, vector) for row, vector in zip(some, vectors, strict=True)]
            store.write_vectors(version.pk, pairs, space, embedded=0)
        _ready(version.pk)
        count -= len(some)
        number += 1


def _search(space: spaces.Space, talk: Talk) -> dict[str, Any]:
    keys = list(Chunk.objects.values_list("key", flat=True))
    _until_kept(space)
    given, retriever = Given(), DocumentRetriever()
    result: dict[str, Any] = {}
    with backends.override(embedder=given):
        for name in ("as_it_is_done", "index_each_time"):
            watch = Stopwatch()
            stages: list[dict[str, float]] = []
            without = mock.patch.object(nearness, "_current", return_value=None)
            with without if name == "index_each_time" else nullcontext():
                for turn, key in enumerate(talk.pick(keys, QUESTIONS + 1)):
                    if turn == 1:
                        watch, stages = Stopwatch(), []
                    given.vector = talk.near(space.index().vectors([key])[key][0])
                    question = talk.ask(Chunk.objects.get(key=key).text)
                    found = watch.time(lambda question=question: retriever.search(question))  # type: ignore[misc]
                    stages.append(dict(found.timings))
            result[name] = watch.result() | {"stages": medians(stages)}
    return result


def _until_kept(space: spaces.Space) -> None:
    """The vectors of passages are read into memory beside the first questions."""
    end = monotonic() + LOADING_SECONDS
    while nearness._current(space) is None and monotonic() < end:
        sleep(0.05)


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    one = result["ingest"]
    yield f"{one['passages']} passages of {one['documents']} documents, passages a second:"
    yield f"  read and cut                  {one['read_and_cut_per_second']:>10,}"
    yield f"  written with their words      {one['written_per_second']:>10,}"
    yield f"  embedded in batches           {one['embedded_per_second']:>10,}"
    yield f"  all of it                     {one['all_per_second']:>10,}"
    yield f"  embedded one text at a time   {one['one_at_a_time_per_second']:>10,} (a {one['ratio']}th)"
    yield f"search among {result['passages']:,} passages, milliseconds without embedding (at most {MOST:.0f}, p50):"
    for name, title in (
        ("as_it_is_done", "as it is done"),
        ("index_each_time", "asking the index each time"),
    ):
        two = result["search"][name]
        yield f"  {title:30}{two['p50']:>8.2f} p50{two['p95']:>8.2f} p95{two['cpu_p50']:>8.2f} cpu"
    yield "  " + ", ".join(f"{n} {t:.1f}" for n, t in result["search"]["as_it_is_done"]["stages"].items())
