"""The pages of documents and their evaluation."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from memory.models import Chunk, Document, EvaluationQuestion, EvaluationRun
from memory.rag import documents, evaluation
from memory.rag.answering import RECOMMENDED
from memory.rag.ingest import ingest_entries  # noqa: F401  (the handler that these pages wait for)
from tests.factories import GuildFactory
from tests.memory.document_support import SHIPPING, upload
from tests.memory.memory_support import work

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("documents_folder")]


def file(name="faq.md", text=SHIPPING):
    return SimpleUploadedFile(name, text.encode())


def page(client, name, *arguments, **query):
    response = client.get(reverse(f"dashboard:{name}", args=arguments), query)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def post(client, name, *arguments, **values):
    return client.post(reverse(f"dashboard:{name}", args=arguments), values)


def test_the_list_begins_with_what_to_do(staff):
    assert "No document yet" in page(staff, "documents")


def test_several_files_are_taken_in_and_followed(staff):
    response = post(
        staff, "documents-upload", where="everywhere", file=[file(), file("other.md", "# Other\n\nText.")]
    )
    assert response.status_code == 302 and Document.objects.count() == 2
    body = page(staff, "documents")
    assert "faq.md" in body and "queued" in body and 'hx-trigger="every 2s"' in body
    work("ingest")
    body = page(staff, "documents")
    assert "every 2s" not in body and "ready" in body


def test_a_name_that_is_taken_is_a_question(staff):
    upload()
    changed = SHIPPING.replace("three", "nine")
    response = post(staff, "documents-upload", where="everywhere", file=[file(text=changed)])
    body = response.content.decode()
    assert response.status_code == 200 and "Replace it" in body and "Keep both" in body
    assert Document.objects.get().versions.count() == 1
    token = body.split('name="token" value="')[1].split('"')[0]
    post(staff, "documents-same", token=token, **{f"same-{token}": "keep"})
    assert set(Document.objects.values_list("name", flat=True)) == {"faq.md", "faq (2).md"}
    post(staff, "documents-same", token="made up", same="keep")
    assert Document.objects.count() == 2


def test_a_document_shows_its_source_beside_its_passages(staff):
    version = upload()
    body = page(staff, "document", version.document_id)
    assert "three business days" in body and "Shipping" in body and "Answers everywhere" in body
    chunk = Chunk.objects.order_by("key").last()
    body = page(staff, "document", version.document_id, chunk=chunk.key)
    assert f'id="chunk-{chunk.key}" class="marked"' in body


def test_progress_polls_while_it_runs_and_stops(staff):
    version = documents.upload(name="faq.md", data=SHIPPING.encode())
    address = reverse("dashboard:document", args=[version.document_id])
    part = staff.get(address, headers={"HX-Request": "true", "HX-Target": "progress"}).content.decode()
    assert "every 1s" in part and "<html" not in part and "Cancel" in part
    work("ingest")
    part = staff.get(address, headers={"HX-Request": "true", "HX-Target": "progress"}).content.decode()
    assert "every 1s" not in part and "embedded anew" in part


def test_what_was_refused_says_why_and_can_be_tried_again(staff):
    version = upload("empty.pdf", b"")
    body = page(staff, "document", version.document_id)
    assert "LOAD_FAILED: empty" in body and "Retry" in body
    post(staff, "document-change", version.document_id, action="retry")
    version.refresh_from_db()
    assert version.state == "queued"


def test_versions_are_compared_and_rolled_back_to(staff):
    first = upload()
    upload("faq.md", SHIPPING.replace("three", "nine"))
    body = page(staff, "document-compare", first.document_id, 1)
    assert "<ins>three " in body and "<del>nine " in body and "Roll back to version 1" in body
    post(staff, "document-change", first.document_id, action="roll-back", version="1")
    assert Document.objects.get().active.number == 1


@pytest.mark.parametrize("version", ["", "x", "-1", "99", "²", "9" * 40])
def test_a_version_that_there_is_not_is_refused_in_words(staff, version):
    first = documents.upload(name="faq.md", data=b"# FAQ\n\nWe open at nine.")
    response = post(staff, "document-change", first.document_id, action="roll-back", version=version)
    assert response.status_code < 500


def test_scope_and_switch_are_changed(staff):
    guild = GuildFactory(name="Harbour")
    version = upload()
    post(
        staff,
        "document-change",
        version.document_id,
        action="scope",
        where="guilds",
        guild=[str(guild.discord_id)],
    )
    document = Document.objects.get()
    assert not document.everywhere and list(document.guilds.all()) == [guild]
    assert "Harbour" in page(staff, "documents")
    post(staff, "document-change", version.document_id, action="disable")
    assert "switched off" in page(staff, "document", version.document_id)


def test_deleting_wants_the_name(staff):
    version = upload()
    assert "Type faq.md to confirm" in page(staff, "document-delete", version.document_id)
    assert post(staff, "document-delete", version.document_id, typed="no").status_code == 422
    assert post(staff, "document-delete", version.document_id, typed="faq.md").status_code == 302
    assert not Document.objects.exists()


def test_a_new_version_is_uploaded_on_the_page(staff):
    version = upload()
    post(staff, "document-new-version", version.document_id, file=file("x.md", SHIPPING + "\nMore."))
    assert Document.objects.get().versions.count() == 2


def test_markup_in_documents_stays_text(staff):
    version = upload("evil.md", "# <script>alert(1)</script>\n\n<b>bold</b> & [x](javascript:alert(1))")
    body = page(staff, "document", version.document_id)
    assert "<script>alert(1)" not in body and 'javascript:alert(1)">' not in body


def test_the_playground_shows_passages_with_their_scores(staff, monkeypatch):
    monkeypatch.setattr(
        "memory.chat.passages.DocumentRetriever.recommended_min_score", staticmethod(lambda: 0.0)
    )
    upload()
    upload("ferry.md", "# Ferry\n\nThe ferry takes parcels at noon.")
    guild = GuildFactory()
    response = post(staff, "playground", guild=str(guild.discord_id), question="How long do parcels take?")
    body = response.content.decode()
    assert "Passages of documents" in body and "faq.md › " in body and "keyword" in body and "fused" in body
    assert "Add this question to the evaluation" in body


def test_evaluation_asks_after_each_change_and_puts_worse_first(staff):
    first = upload()
    post(
        staff,
        "evaluation-add",
        question="How many business days do parcels take?",
        source="faq.md",
        contains="business days",
    )
    post(staff, "evaluation-add", question="zebra crossing", source="")
    post(staff, "evaluation-run")
    body = page(staff, "evaluation")
    assert body.count(f"{RECOMMENDED}") >= 2 and "nothing returned" in body  # it tells what each value costs
    assert "How many business days" in body and EvaluationRun.objects.get().measures["hit@5"] == 1.0
    upload("faq.md", "# Shop\n\nClosed for good.")
    assert EvaluationRun.objects.count() == 1
    work("evaluate")
    assert EvaluationRun.objects.count() == 2
    changes = evaluation.compare(EvaluationRun.objects.order_by("-pk").first())
    assert changes[0].question.source == "faq.md" and changes[0].worse_by == 1.0
    body = page(staff, "evaluation")
    assert "1 got worse" in body and "not found" in body and "faq.md, version 2" in body
    post(staff, "evaluation-remove", question=[str(EvaluationQuestion.objects.first().pk)])
    assert EvaluationQuestion.objects.count() == 1
    assert first.document_id


def test_nobody_else_gets_in():
    version = upload()
    for name, arguments in (("documents", []), ("document", [version.document_id]), ("evaluation", [])):
        assert Client().get(reverse(f"dashboard:{name}", args=arguments)).status_code == 302
