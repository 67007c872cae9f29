"""Documents and retrieval through the API."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from memory import access
from memory.models import Document, DocumentVersion
from memory.rag import files
from tests.factories import GuildFactory
from tests.memory.document_support import SHIPPING
from tests.memory.memory_support import work

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("documents_folder")]


@pytest.fixture
def client():
    return Client(headers={"Authorization": f"Bearer {access.make_key(name='test')[1]}"})


def file(name="faq.md", text=SHIPPING):
    return SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)


def send(client, *given, **values):
    return client.post("/api/v1/documents", {"file": list(given), **values})


def put(client, document_id, **body):
    return client.put(f"/api/v1/documents/{document_id}", json.dumps(body), content_type="application/json")


def retrieve(client, query, **body):
    response = client.post(
        "/api/v1/retrieve", json.dumps({"query": query, **body}), content_type="application/json"
    )
    assert response.status_code == 200, response.content
    return response.json()


def test_an_upload_is_taken_in_and_found(client):
    response = send(client, file(), file("other.md", "# Ferry\n\nThe ferry sails at noon."))
    assert response.status_code == 202
    first, second = response.json()["results"]
    assert first["state"] == "queued" and second["name"] == "other.md" and first["everywhere"]
    work("ingest")
    body = client.get(f"/api/v1/documents/{first['id']}").json()
    assert body["state"] == "ready" and body["active_version"] == 1
    assert body["progress"]["done"] == body["progress"]["total"] > 0
    found = retrieve(client, "parcels", top_k=1)
    hit = found["results"][0]
    assert set(hit) == {
        "text",
        "score",
        "scores",
        "source",
        "section",
        "citation",
        "id",
        "document_id",
        "index",
    }
    assert "three business days" in hit["text"] and hit["document_id"] == first["id"]
    assert found["left_out"][0]["why_excluded"] == "top_k"
    assert retrieve(client, "parcels", min_score=1.0)["results"] == []


def test_what_is_refused_is_told_with_code_and_reason(client):
    document_id = send(client, file("empty.pdf", b"")).json()["results"][0]["id"]
    work("ingest")
    version = client.get(f"/api/v1/documents/{document_id}").json()["versions"][0]
    assert (version["state"], version["error"], version["reason"]) == ("failed", "LOAD_FAILED", "empty")
    assert version["message"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("setup.exe", b"MZ\x90\x00 program"),
        ("notes.exe", b"just words"),
        ("all.zip", b"PK\x03\x04 archive"),
        ("all.md", b"PK\x03\x04 archive"),
        ("table.csv", b"\x7fELF program"),
        ("page.pdf", b"<html>no</html>"),
        ("letter.docx", b"no archive at all"),
        ("text.txt", b"%PDF-1.7"),
        ("picture.png", b"\x89PNG\r\n"),
    ],
)
def test_what_nobody_reads_here_is_refused_at_once(client, name, data, documents_folder):
    response = send(client, file(name, data))
    assert response.status_code == 415 and response.json()["error"] == "UNSUPPORTED_FORMAT"
    assert not Document.objects.exists()
    assert not documents_folder.exists() or not list(documents_folder.iterdir()), "nothing was kept"
    good = send(client, file()).json()["results"][0]["id"]
    again = client.put(
        f"/api/v1/documents/{good}",
        encode_multipart(BOUNDARY, {"file": file(name, data)}),
        content_type=MULTIPART_CONTENT,
    )
    assert again.status_code == 415 and len(Document.objects.get().versions.all()) == 1


def test_what_is_too_large_is_refused_before_it_is_read(client, settings, monkeypatch):
    config = settings.MUSEBOT
    settings.MUSEBOT = config.model_copy(
        update={"rag": config.rag.model_copy(update={"max_file_bytes": 1000})}
    )
    monkeypatch.setattr("memory.rag.documents.upload", None)  # is never reached
    response = send(client, file(text="x" * 1001))
    assert response.status_code == 413 and response.json()["error"] == "LOAD_FAILED"
    assert response.json()["details"]["reason"] == "file_size"


def test_a_body_that_is_no_json_is_told_so(client):
    document_id = send(client, file()).json()["results"][0]["id"]
    for body in (b"{", b"\xff", b"[" * 100_000):
        response = client.put(f"/api/v1/documents/{document_id}", body, content_type="application/json")
        assert (response.status_code, response.json()["error"]) == (400, "invalid_json")
    for body in (b"[]", b'"x"', b'{"enabled": 7}'):
        response = client.put(f"/api/v1/documents/{document_id}", body, content_type="application/json")
        assert (response.status_code, response.json()["error"]) == (422, "invalid_input")


def test_the_same_name_replaces_unless_both_are_to_be_kept(client):
    send(client, file())
    work("ingest")
    assert send(client, file(text=SHIPPING + "\nMore.")).json()["results"][0]["versions"][0]["number"] == 2
    kept = send(client, file(text="# Else\n\nOther."), same="keep").json()["results"][0]
    assert kept["name"] == "faq (2).md"
    assert send(client, file(), same="maybe").status_code == 422


def test_put_replaces_changes_and_rolls_back(client):
    document_id = send(client, file()).json()["results"][0]["id"]
    work("ingest")
    response = client.put(
        f"/api/v1/documents/{document_id}",
        encode_multipart(BOUNDARY, {"file": file("renamed.md", SHIPPING.replace("three", "nine"))}),
        content_type=MULTIPART_CONTENT,
    )
    assert response.status_code == 202 and response.json()["name"] == "faq.md"
    work("ingest")
    assert "nine" in retrieve(client, "parcels")["results"][0]["text"]
    assert put(client, document_id, version=1).json()["active_version"] == 1
    assert "three" in retrieve(client, "parcels")["results"][0]["text"]
    assert put(client, document_id, enabled=False).json()["enabled"] is False
    assert retrieve(client, "parcels")["results"] == []
    assert put(client, document_id, version=9).status_code == 404
    assert put(client, document_id, colour="red").status_code == 422
    assert put(client, document_id, everywhere=False).status_code == 422


def test_documents_of_a_server(client):
    guild = GuildFactory()
    document = send(client, file(), guild_id=str(guild.discord_id)).json()["results"][0]
    work("ingest")
    assert document["guild_ids"] == [str(guild.discord_id)] and not document["everywhere"]
    assert retrieve(client, "parcels", guild_id=str(guild.discord_id))["results"]
    assert not retrieve(client, "parcels")["results"]
    assert client.get("/api/v1/documents", {"guild_id": str(guild.discord_id)}).json()["results"]
    assert send(client, file(), guild_id="77").status_code == 404
    assert send(client, file(), guild_id="x").status_code == 422
    assert put(client, document["id"], everywhere=True).json()["everywhere"]
    assert retrieve(client, "parcels")["results"]


def test_deleting_takes_the_files_along(client):
    document_id = send(client, file()).json()["results"][0]["id"]
    work("ingest")
    response = client.delete(f"/api/v1/documents/{document_id}")
    assert response.status_code == 200 and response.json()["removed"] > 0
    assert not Document.objects.exists() and not list(files.folder().iterdir())
    assert client.delete(f"/api/v1/documents/{document_id}").status_code == 404
    assert client.get(f"/api/v1/documents/{document_id}").status_code == 404


def test_the_list_comes_in_pages(client):
    for number in range(5):
        send(client, file(f"{number}.md", f"# {number}\n\nText."))
    first = client.get("/api/v1/documents", {"limit": 3}).json()
    rest = client.get("/api/v1/documents", {"limit": 3, "cursor": first["next_cursor"]}).json()
    assert [row["name"] for row in first["results"] + rest["results"]] == [
        f"{n}.md" for n in range(4, -1, -1)
    ]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("name", ["../../etc/passwd", "a\r\nb.md", "<script>.md", "x" * 500 + ".md"])
def test_hostile_names_are_made_safe_or_refused(client, name):
    response = send(client, file(name))
    assert response.status_code in {202, 422}
    assert all(len(path.name) == 32 for path in files.folder().iterdir()) if files.folder().exists() else True


def test_no_file_and_the_wrong_key_are_refused(client):
    assert client.post("/api/v1/documents", {}).status_code == 422
    reader = Client(headers={"Authorization": f"Bearer {access.make_key(name='reader', scopes=['read'])[1]}"})
    assert send(reader, file()).status_code == 403 and not DocumentVersion.objects.exists()


def test_ask_tells_what_it_cites(client, monkeypatch):
    monkeypatch.setattr(
        "memory.chat.passages.DocumentRetriever.recommended_min_score", staticmethod(lambda: 0.0)
    )
    send(client, file())
    work("ingest")
    body = client.post(
        "/api/v1/ask",
        json.dumps({"question": "How many business days do parcels take?"}),
        content_type="application/json",
    ).json()
    citation = body["citations"][0]
    assert (
        citation["n"] == 1 and citation["citation"].startswith("faq.md") and "business days" in body["text"]
    )
    trace = client.get(f"/api/v1/replies/{body['trace_id']}").json()
    assert trace["citations"][0]["id"] == citation["id"]
