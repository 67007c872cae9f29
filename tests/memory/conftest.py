"""Fixtures that several files of this folder use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.document_files import documents_folder
from tests.memory.memory_support import database
from tests.ollama_servers import sims

__all__ = ["documents_folder", "sims"]


@pytest.fixture
def receipts() -> Iterator[Path]:
    """The file of receipts beside the database, which is not there before and after."""
    path = database().with_name("erasures.jsonl")
    path.unlink(missing_ok=True)
    yield path
    path.unlink(missing_ok=True)
