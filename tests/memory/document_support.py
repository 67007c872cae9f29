"""Steps that tests of documents share."""

from __future__ import annotations

from typing import Any

from memory.models import Chunk, Document, DocumentVersion
from memory.rag import documents
from memory.rag.options import Filters, Hit
from memory.rag.retriever import DocumentRetriever
from tests.memory.memory_support import work

SHIPPING = """# Shop

## Shipping

Parcels take three business days within the country.

## Returns

Send things back within thirty days, in their box.
"""


def upload(name: str = "faq.md", text: str | bytes = SHIPPING, **values: Any) -> DocumentVersion:
    """A document that has gone through the worker."""
    data = text if isinstance(text, bytes) else text.encode()
    version = documents.upload(name=name, data=data, **values)
    work("ingest")
    version.refresh_from_db()
    return version


def find(question: str, *, guild_id: int | None = None, top_k: int = 3, **values: Any) -> list[Hit]:
    return DocumentRetriever(filters=Filters(guild_id=guild_id)).retrieve(question, top_k, **values)


def texts(document: Document) -> list[str]:
    return list(
        Chunk.objects.filter(version=document.active_id).order_by("key").values_list("text", flat=True)
    )
