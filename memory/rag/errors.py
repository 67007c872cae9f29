"""Everything that documents and their retrieval can fail at: one error with a stable ``code``."""

from __future__ import annotations

from typing import Any, Literal

from memory.errors import MusebotError

RagCode = Literal[
    "INVALID_OPTIONS",
    "UNSUPPORTED_FORMAT",
    "LOAD_FAILED",
    "MISSING_DEPENDENCY",
    "EMBEDDING_FAILED",
    "INVALID_INDEX",
    "EMBEDDER_CHANGED",
    "PERSIST_FAILED",
]

_STATUS = {"INVALID_OPTIONS": 422, "UNSUPPORTED_FORMAT": 415, "LOAD_FAILED": 422, "EMBEDDING_FAILED": 502}


class RagError(MusebotError):
    """A document or its index failed. ``details["reason"]`` is a stable word for the cause (``password``, ``empty``, …)."""

    def __init__(self, code: RagCode, message: str, **details: Any) -> None:
        super().__init__(message, **details)
        self.code = code
        self.status = _STATUS.get(code, 500)
        self.retryable = code in ("EMBEDDING_FAILED", "PERSIST_FAILED")

    @property
    def reason(self) -> str:
        return str(self.details.get("reason", ""))


def refuse(message: str, reason: str, **details: Any) -> RagError:
    """The error for a document that cannot be read."""
    return RagError("LOAD_FAILED", message, reason=reason, **details)


def too_large(size: int, most: int) -> RagError:
    """The error for a file whose size alone rules it out; over HTTP it has a status of its own."""
    error = refuse(f"The file has {size:,} bytes; at most {most:,} are read.", "file_size")
    error.status = 413
    return error


def unsupported(message: str, reason: str = "format", **details: Any) -> RagError:
    """The error for a document that is of a kind nobody reads here."""
    return RagError("UNSUPPORTED_FORMAT", message, reason=reason, **details)
