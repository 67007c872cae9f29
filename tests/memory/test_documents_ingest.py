"""From an upload to passages that are found, and what happens when something goes wrong on the way."""

from __future__ import annotations

import os
import signal

import pytest

from memory import backends
from memory.errors import ModelUnavailable
from memory.index import chunks as index
from memory.llm.hashing import HashEmbedder
from memory.models import Chunk, Document, DocumentVersion, OutboxEntry
from memory.rag import documents, files, ingest, orphans, spaces, store
from memory.rag.errors import RagError
from tests.memory.document_support import SHIPPING, find, texts, upload
from tests.memory.memory_support import work
from tests.memory.test_rag_sandbox import SLOW, started

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("documents_folder")]


class CountingEmbedder(HashEmbedder):
    """Counts the passages that it is asked for; fails while ``away``."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.away = False

    def embed_documents(self, texts):
        if self.away:
            raise ModelUnavailable("nobody answers")
        self.texts += texts
        return super().embed_documents(texts)


@pytest.fixture
def embedder():
    counting = CountingEmbedder()
    with backends.override(embedder=counting):
        yield counting


def long_text(paragraphs: int = 120, **changed: str) -> str:
    names = [
        changed.get(f"p{n}", f"In chapter {n} the keeper of lantern {n} counts {n * 7} boats.")
        for n in range(paragraphs)
    ]
    return "\n\n".join(f"## Chapter {n}\n\n{text}" for n, text in enumerate(names))


def test_an_upload_goes_through_its_stages_and_is_found():
    version = documents.upload(name="faq.md", data=SHIPPING.encode())
    assert version.state == "queued" and not find("shipping")
    work("ingest")
    version.refresh_from_db()
    assert version.state == "ready" and version.kind == "markdown"
    assert version.chunks_done == version.chunks_total > 0
    assert version.document.active_id == version.pk
    hit = find("how long do parcels take")[0]
    assert "three business days" in hit.text and hit.citation.startswith("faq.md › ")
    assert not OutboxEntry.objects.filter(kind="ingest").exists()


def test_what_cannot_be_read_says_why_and_leaves_nothing_behind():
    version = upload("empty.pdf", b"")
    assert (version.state, version.error_code, version.reason) == ("failed", "LOAD_FAILED", "empty")
    assert version.error and not Chunk.objects.exists()
    assert upload("good.md").state == "ready"


def test_only_what_changed_is_embedded_again(embedder):
    first = upload("book.md", long_text())
    assert len(embedder.texts) == first.chunks_embedded == first.chunks_total
    embedder.texts.clear()
    second = upload("book.md", long_text(p60="Chapter sixty is about a whale now."))
    assert second.document_id == first.document_id and second.number == 2
    assert 1 <= len(embedder.texts) <= 3 and second.chunks_embedded == len(embedder.texts)
    assert second.chunks_done == second.chunks_total
    assert "whale" in find("whale")[0].text


def test_the_same_file_again_is_not_read_again(embedder):
    first = upload()
    embedder.texts.clear()
    again = documents.upload(name="faq.md", data=SHIPPING.encode())
    assert again.pk == first.pk and not OutboxEntry.objects.filter(kind="ingest").exists()
    assert len(list(files.folder().iterdir())) == DocumentVersion.objects.count() == 1


def test_the_older_version_answers_until_the_new_one_is_ready(embedder):
    first = upload()
    embedder.away = True
    second = documents.upload(name="faq.md", data=SHIPPING.replace("three", "nine").encode())
    work("ingest")
    second.refresh_from_db()
    assert second.state == "embed" and second.error_code == "EMBEDDING_FAILED" and second.error
    assert Document.objects.get().active_id == first.pk
    assert "three business days" in find("parcels")[0].text
    embedder.away = False
    work("ingest")
    assert "nine business days" in find("parcels")[0].text


def test_a_first_version_is_found_by_its_words_while_the_embedder_is_away(embedder):
    embedder.away = True
    version = upload()
    assert version.state == "embed" and version.chunks_done == 0
    assert "three business days" in find("parcels")[0].text
    entry = OutboxEntry.objects.get(kind="ingest")
    assert entry.state == "queued" and entry.error_code == ""


def test_roll_back_is_at_once():
    first = upload()
    upload("faq.md", SHIPPING.replace("three", "nine"))
    documents.roll_back(first.document_id, number=1)
    assert "three business days" in find("parcels")[0].text
    assert DocumentVersion.objects.count() == 2


def test_older_versions_go_with_their_files():
    for number in range(documents.KEEP_VERSIONS + 2):
        version = upload("faq.md", SHIPPING.replace("three", f"{number} odd"))
    assert DocumentVersion.objects.count() == documents.KEEP_VERSIONS
    assert len(list(files.folder().iterdir())) == documents.KEEP_VERSIONS
    assert version.number == documents.KEEP_VERSIONS + 2


def test_keeping_both_gives_the_new_one_a_name_of_its_own():
    upload()
    other = upload("faq.md", SHIPPING.replace("three", "nine"), same="keep")
    assert other.document.name == "faq (2).md" and Document.objects.count() == 2


def test_cancelling_leaves_what_answered_before(embedder):
    first = upload()
    embedder.away = True
    documents.upload(name="faq.md", data=b"# Other\n\nSomething else.")
    work("ingest")
    assert documents.cancel(first.document_id)
    newest = first.document.versions.order_by("-number").first()
    assert newest.state == "cancelled" and not newest.chunks.exists()
    assert "three" in find("parcels")[0].text
    embedder.away = False
    documents.retry(first.document_id)
    work("ingest")
    assert "Something else" in find("something else")[0].text


def test_deleting_takes_everything_along():
    version = upload()
    documents.delete(version.document_id)
    assert not Document.objects.exists() and not Chunk.objects.exists() and not find("parcels")
    space = spaces.serving()
    assert space is not None and space.index().count() == 0
    assert not index.word_keys_without_rows() and not list(files.folder().iterdir())
    assert index.sound_words()


def test_a_document_that_is_switched_off_answers_nothing():
    version = upload()
    documents.set_enabled(version.document_id, enabled=False)
    assert not find("parcels")
    documents.set_enabled(version.document_id, enabled=True)
    assert find("parcels")


def test_too_large_is_refused_before_it_is_kept(settings):
    rag = settings.MUSEBOT.rag.model_copy(update={"max_file_bytes": 10})
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"rag": rag})
    with pytest.raises(RagError) as caught:
        documents.upload(name="faq.md", data=b"more than ten bytes")
    assert (caught.value.code, caught.value.reason) == ("LOAD_FAILED", "file_size")
    assert not Document.objects.exists()


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd.md",
        "@everyone.md",
        "[1] faq.md",
        "a`b*c.md",
        "C:\\x\\y.md",
        "‮evil.md",
        "x" * 400 + ".md",
    ],
)
def test_names_are_shown_safely(name):
    version = upload(name)
    assert version.state == "ready"
    shown = version.document.name
    assert len(shown) <= 200 and not set(shown) & set("@[]`*\\/<>‮")
    assert version.stored_name in {path.name for path in files.folder().iterdir()}


@pytest.mark.parametrize("name", ["", "...", "///", "\x00\x01"])
def test_names_of_nothing_are_refused(name):
    with pytest.raises(RagError) as caught:
        documents.upload(name=name, data=b"text")
    assert caught.value.code == "INVALID_OPTIONS" and not Document.objects.exists()


def test_another_model_is_built_beside_the_one_that_serves(monkeypatch):
    class Other(HashEmbedder):
        def identity(self):
            given = super().identity()
            return type(given)(given.provider, "other", given.digest, given.dimension)

    upload()
    before = spaces.serving()
    other = Other()
    with backends.override(embedder=other):
        monkeypatch.setattr(backends, "embedder_for", lambda reference: HashEmbedder())
        upload("second.md", "# Second\n\nThe ferry sails at noon.")
        assert spaces.serving() == before and ingest.rebuild_progress() is not None
        assert find("parcels")[0].scores["cosine"] > 0
        work("reindex")
        served = spaces.serving()
        assert served is not None and served != before and served.name == "other"
        assert ingest.rebuild_progress() is None
        assert find("parcels") and find("ferry")[0].scores["cosine"] > 0
        assert set(Chunk.objects.values_list("space", flat=True)) == {served.id}


def test_without_an_embedder_documents_are_found_by_their_words():
    with backends.override(embedder=None):
        version = upload()
        assert version.state == "ready" and version.warnings
        assert "three" in find("parcels")[0].text
    ingest.note_if_due()
    work("reindex")
    assert set(Chunk.objects.values_list("embedding", flat=True)) == {"done"}


def test_the_orphan_scan_finds_and_mends():
    version = upload()
    assert orphans.scan() == {}
    row = Chunk.objects.first()
    space = spaces.serving()
    space.index().remove([row.key])
    index.remove_words([row.key])
    DocumentVersion.objects.filter(pk=version.pk).update(state="embed")
    found = orphans.scan()
    assert found["rows_without_vectors"] == found["rows_without_words"] == found["work_lost"] == 1
    work("ingest")
    work("reindex")
    assert orphans.scan() == {} and len(texts(version.document)) == version.chunks_total


def test_a_worker_that_died_while_writing_starts_over(monkeypatch):
    version = documents.upload(name="faq.md", data=SHIPPING.encode())

    def die(*args, **kwargs):
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr("memory.rag.ingest.store.write", die)
        work("ingest")
    version.refresh_from_db()
    assert version.state == "chunk"
    work("ingest")
    version.refresh_from_db()
    assert version.state == "ready" and index.sound_words()


@pytest.mark.parametrize("ends", ["cancel", "delete"])
def test_a_file_that_is_slow_to_read_is_dropped_when_it_is_cancelled_or_deleted(monkeypatch, ends):
    version = documents.upload(name="slow.csv", data=SLOW)
    processes, busy, asked = started(monkeypatch), store.is_busy, []

    def is_busy(version_id):
        """As the worker asks; somebody ends it in the dashboard in between."""
        asked.append(version_id)
        if len(asked) == 2:
            getattr(documents, ends)(version.document_id)
        return busy(version_id)

    monkeypatch.setattr(store, "is_busy", is_busy)
    work("ingest")
    assert [one.returncode for one in processes] == [-signal.SIGKILL if os.name == "posix" else 1]
    assert not OutboxEntry.objects.filter(kind="ingest").exists() and not Chunk.objects.exists()
    rows = list(DocumentVersion.objects.filter(pk=version.pk).values_list("state", "error"))
    assert rows == ([("cancelled", "")] if ends == "cancel" else [])
