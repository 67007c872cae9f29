"""A folder of its own for the files of documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.rag import files


@pytest.fixture
def documents_folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "documents"
    with files.use_folder(folder):
        yield folder
