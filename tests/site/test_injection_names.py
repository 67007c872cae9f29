"""Hostile names of uploaded files: through the API and the dashboard they become harmless names, or are refused in words."""

from __future__ import annotations

import html
import json
import unicodedata
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from memory import access
from memory.models import Document
from memory.rag.citations import label
from memory.rag.options import Hit
from tests.memory.memory_support import work

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("documents_folder")]

NASTY = Path(__file__).resolve().parent.parent / "data" / "nasty" / "filenames.json"
NAMES = [entry["name"] for entry in json.loads(NASTY.read_text(encoding="utf-8"))]
NOT_READ = {"..\\..\\windows\\win.ini", "faq\u202efdp.exe", "faq.md.exe"}
NO_NAME = {"", ".", "..", "faq\ud800.md"}
"""Nothing is left of them, or they are no text at all and a server drops the part."""
BOUNDARY = "nasty-boundary"


def form(name: str, *more: tuple[str, str]) -> bytes:
    """As a browser that does not tidy names would send it; line breaks and quotes as the standard writes them."""
    raw = name.encode("utf-8", "surrogatepass")
    sent = raw.replace(b'"', b"%22").replace(b"\r", b"%0D").replace(b"\n", b"%0A")
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="'.encode()
    body = head + sent + b'"\r\nContent-Type: text/plain\r\n\r\n# FAQ\n\nThe office opens at nine.\r\n'
    fields = "".join(
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in more
    )
    return body + fields.encode() + f"--{BOUNDARY}--\r\n".encode()


def check_name(shown: str) -> None:
    assert shown and len(shown) <= 150 and any(one.isalnum() for one in shown)
    assert not set(shown) & set("/\\<>[]`*|~@#\0\r\n")
    assert not shown.startswith(".") and shown == shown.strip()
    assert shown == unicodedata.normalize("NFC", shown)
    assert not any(unicodedata.category(one) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for one in shown)
    cited = label(Hit(text="x", score=1.0, source=shown, citation=shown))
    assert not set(cited) & set("[]<>`*|~@\n") and "://" not in cited


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_through_the_api(name: str, documents_folder: Path) -> None:
    client = Client(headers={"Authorization": f"Bearer {access.make_key(name='test')[1]}"})
    response = client.post(
        "/api/v1/documents", form(name), content_type=f"multipart/form-data; boundary={BOUNDARY}"
    )
    body = response.json()
    if name in NOT_READ | NO_NAME:
        assert response.status_code == (415 if name in NOT_READ else 422), body
        assert set(body) == {"error", "message", "details"} and not Document.objects.exists()
        return
    assert response.status_code == 202, body
    check_name(body["results"][0]["name"])
    stored = [path.name for path in documents_folder.rglob("*")]
    assert len(stored) == 1 and len(stored[0]) == 32 and stored[0].isalnum(), (
        "its name never reaches the disk"
    )
    work("ingest")
    assert Document.objects.get().active is not None, "it is read, whatever it is called"


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_through_the_dashboard(staff: Client, name: str, documents_folder: Path) -> None:
    response = staff.post(
        reverse("dashboard:documents-upload"),
        form(name, ("where", "everywhere")),
        content_type=f"multipart/form-data; boundary={BOUNDARY}",
        follow=True,
    )
    assert response.status_code == 200
    body = response.content.decode()
    assert "<img src=x" not in body and "49.md" not in body and "\u202e" not in body
    if name in NOT_READ | NO_NAME:
        assert not Document.objects.exists() and "notice-error" in body
        return
    row = Document.objects.get()
    check_name(row.name)
    assert html.escape(row.name) in body
    page = staff.get(reverse("dashboard:document", args=[row.pk]))
    assert page.status_code == 200
    assert all("\n" not in value and "\r" not in value for value in page.headers.values())
    assert "Set-Cookie: x=1" not in str(page.headers)


def test_names_that_look_the_same_are_one_document(staff: Client) -> None:
    for name in ("nfc-é.md", "nfd-é.md".replace("nfd", "nfc")):
        staff.post(
            reverse("dashboard:documents-upload"),
            form(name, ("where", "everywhere")),
            content_type=f"multipart/form-data; boundary={BOUNDARY}",
        )
    assert Document.objects.count() == 1
