"""A stored file to passages. The file is read where it can be killed; what comes back is text."""

from __future__ import annotations

from collections.abc import Callable

from memory.conf import RagSettings
from memory.llm.tokens import count_tokens
from memory.rag import files
from memory.rag.chunking import Chunk, ChunkOptions, chunk_document
from memory.rag.sandbox import load_safely
from memory.rag.types import LoadedDocument, LoadLimits


def load(stored_name: str, name: str, settings: RagSettings, *, wanted: Callable[[], bool]) -> LoadedDocument:
    """Raises ``RagError`` with the cause for what cannot be read, and ``Unwanted`` soon after ``wanted`` says no."""
    limits = LoadLimits(file_bytes=settings.max_file_bytes)
    return load_safely(files.read(stored_name), name, limits=limits, wanted=wanted)


def chunk(document: LoadedDocument, settings: RagSettings) -> tuple[Chunk, ...]:
    """The passages of a document, in order."""
    measure = count_tokens if settings.chunk_unit == "tokens" else len
    return chunk_document(
        document, ChunkOptions(size=settings.chunk_size, overlap=settings.chunk_overlap, measure=measure)
    )
