"""Kinds of work in words: what is done, and to what."""

from __future__ import annotations

KINDS = {
    "embed": ("Embedding", "messages"),
    "embed_archive": ("Embedding", "archive entries"),
    "enrich": ("Images and links", "messages"),
    "extract": ("Extracting facts", "conversations"),
    "consolidate": ("Consolidating core memory", "members"),
    "ingest": ("Reading documents", "versions"),
    "reindex": ("Vectors of documents", "another embedding model"),
    "evaluate": ("Evaluation", "runs"),
    "scan_documents": ("Looking for orphans", "documents"),
    "scan_indexes": ("Looking for orphans", "all stores"),
    "erase": ("Erasing", "members"),
    "clean_files": ("Emptying the database's log", "after erasures"),
    "forget_channel": ("Forgetting", "deleted channels"),
    "forget_guild": ("Forgetting", "servers that were left"),
    "retention": ("Retention", "what is over its time"),
    "history": ("Reading histories", "all scans"),
    "respace": ("Building vectors", "another embedding model"),
    "prepare": ("Making recall faster", "vectors of before"),
}
ELSEWHERE = frozenset({"history", "respace"})
"""Shown by what they are about, not as work in the queue, unless they failed."""


def kind_words(kind: str) -> tuple[str, str]:
    return KINDS.get(kind, (kind.replace("_", " ").capitalize(), ""))
