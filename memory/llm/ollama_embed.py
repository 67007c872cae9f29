"""Embedding with models that Ollama serves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from memory.errors import ModelReplyInvalid
from memory.llm.base import EmbedderIdentity, Vectors
from memory.llm.batches import embed_in_batches, unit_vectors
from memory.llm.ollama_hosts import Host, normal_name
from memory.llm.ollama_pool import HostPool
from memory.llm.prefixes import prefixes_for

Known = Callable[[], tuple[str, int] | None]


def _nothing_known() -> tuple[str, int] | None:
    return None


class OllamaEmbedder:
    """An embedding model on one or several hosts.

    Two builds of one name give vectors that cannot be compared, so one build is kept to (the one that the stored vectors are
    of, where ``known`` tells it as digest and dimension) while any host may still have it; ``identity`` is the only
    place where it moves on.
    """

    def __init__(
        self,
        pool: HostPool,
        name: str,
        *,
        read_timeout: float,
        query_timeout: float | None = None,
        known: Known = _nothing_known,
    ) -> None:
        self.name = name
        self._pool = pool
        self._read_timeout = read_timeout
        self._query_timeout = query_timeout or read_timeout
        self._known = known
        self._prefixes = prefixes_for(name)
        self._digest: str | None = None
        self._dimensions: dict[str, int] = {}
        self._lock = threading.Lock()

    def identity(self) -> EmbedderIdentity:
        with self._lock:
            self._digest = self._choose_build()
            return self._identity(self._digest)

    def _current(self) -> EmbedderIdentity:
        with self._lock:
            if self._digest is None:
                self._digest = self._choose_build()
            return self._identity(self._digest)

    def _identity(self, digest: str) -> EmbedderIdentity:
        if digest not in self._dimensions:
            self._dimensions[digest] = self._measure(digest)
        name = normal_name(self.name).removesuffix(":latest")
        return EmbedderIdentity("ollama", name, digest, self._dimensions[digest])

    def _choose_build(self) -> str:
        builds, all_answered = self._pool.builds(self.name)
        kept = self._digest
        if stored := self._known():  # asked every time: another process may have moved on
            kept = stored[0]
            self._dimensions.setdefault(*stored)
        if kept is not None and (kept in builds or not all_answered):
            return kept
        if not builds:
            raise self._pool.why_not(self.name)
        return builds[0]

    def _measure(self, digest: str) -> int:
        raw = self._send(["dimension"], digest, self._read_timeout)
        return int(unit_vectors(raw, count=1, dimension=None).shape[1])

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embed([self._prefixes.document + text for text in texts], self._read_timeout)

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self._embed([self._prefixes.query + text], self._query_timeout)[0]
        return row

    def _embed(self, texts: list[str], timeout: float) -> Vectors:
        if not texts:
            with self._lock:
                known = self._dimensions.get(self._digest or "", 0)
            return np.empty((0, known or self._current().dimension), np.float32)
        identity = self._current()
        return embed_in_batches(
            texts,
            lambda batch: self._send(batch, identity.digest, timeout),
            dimension=identity.dimension,
        )

    def _send(self, texts: list[str], digest: str, timeout: float) -> Sequence[Sequence[float]]:
        def work(host: Host) -> Sequence[Sequence[float]]:
            reply = host.client(timeout).embed(model=self.name, input=texts, truncate=True)
            if len(reply.embeddings) != len(texts):
                raise ModelReplyInvalid(
                    f"{host.label} answered with {len(reply.embeddings)} vectors for {len(texts)} texts.",
                    host=host.label,
                )
            return reply.embeddings

        lease, vectors = self._pool.run(self.name, work, digest=digest)
        lease.leave()
        return vectors

    def check(self) -> Mapping[str, Any]:
        report = self._pool.check(self.name)
        builds = {entry["digest"] for entry in report["hosts"] if entry["has_model"]}
        if report["ok"] and len(builds) > 1:
            report["message"] = (
                f"The hosts have different builds of {self.name}; only those with one of them are used. "
                f"Run on each: ollama pull {self.name}"
            )
        return report
