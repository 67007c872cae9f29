"""From SQLite to PostgreSQL and back: both reports name the same hashes, and the moved installation answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.flows import storage
from tests.flows.stack import Stack

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(not storage.SERVER, reason="needs the PostgreSQL of `make test-postgres`"),
]

SEARCH = (
    "from memory.retrieval import operator_search\n"
    "answer = {mode: [hit.key for hit in operator_search.search(text='ferry', mode=mode, limit=10)[0]]"
    " for mode in ('keyword', 'semantic')}"
)


def moved(stack: Stack, url: str, **environment: str) -> dict[str, Any]:
    stack.environment |= environment
    report: dict[str, Any] = json.loads(stack.manage("migrate_storage", "--to", url, "--json").stdout)
    return report["tables"]  # type: ignore[no-any-return]


def test_there_and_back(install: Callable[..., Stack], tmp_path: Path) -> None:
    stack = install(DATABASE_URL="", MUSEBOT_EMBEDDING_MODEL="hash")
    server = storage.PostgresDatabase(tmp_path, None)
    try:
        stack.manage("migrate", "--verbosity", "0")
        stack.manage("sample_community", "--verbosity", "0")
        stack.manage("createapikey", "for the move", "--scope", "read")
        before = stack.ask_django(SEARCH)
        there = moved(stack, server.url)
        assert there["memory_message"]["rows"] > 300 and there["memory_apikey"]["rows"] == 1
        assert any(
            name.startswith("memory_vectors_") and table["rows"] > 300 for name, table in there.items()
        )
        refused = stack.manage("migrate_storage", "--to", server.url, check=False)
        assert refused.returncode == 1 and "not empty" in refused.stderr and "Traceback" not in refused.stderr

        back = moved(stack, f"sqlite:///{tmp_path}/back/memory.db", DATABASE_URL=server.url)
        assert back == there
        after = stack.ask_django(SEARCH)
        assert after["semantic"] == before["semantic"] and set(after["keyword"]) == set(before["keyword"])
    finally:
        server.close()
