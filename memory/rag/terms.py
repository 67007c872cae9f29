"""What is indexed of a passage, as functions of the database: the view behind the full-text index calls them."""

from __future__ import annotations

from typing import Any

from memory.rag.context import full_text


def passage_terms(text: str | None) -> str:
    return full_text(text or "", "", "", ())[0]


def heading_terms(heading: str | None) -> str:
    return full_text("", "", "", (heading or "").split("\n"))[1]


def document_terms(name: str | None, title: str | None) -> str:
    return full_text("", name or "", title or "", ())[2]


def passage_fields(name: str, title: str, heading: str, text: str) -> tuple[str, str, str]:
    """All three at once: (title, heading, body)."""
    return document_terms(name, title), heading_terms(heading), passage_terms(text)


def prepare_connection(sender: Any, connection: Any, **kwargs: Any) -> None:
    """Adds the functions to a connection (receiver of ``connection_created``). Changing them means rebuilding the index."""
    if connection.vendor != "sqlite":
        return
    raw = connection.connection
    raw.create_function("musebot_passage_terms", 1, passage_terms, deterministic=True)
    raw.create_function("musebot_heading_terms", 1, heading_terms, deterministic=True)
    raw.create_function("musebot_document_terms", 2, document_terms, deterministic=True)
