"""The key ``rag`` of ``config.jsonc``: answers from documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memory.conf import DocumentSource, RagSettings
from memory.errors import ConfigurationError

OPTIONS = {
    "retriever": "retriever",
    "topK": "top_k",
    "minScore": "min_score",
    "appendSources": "append_sources",
    "instructions": "instructions",
    "timeoutMs": "timeout_ms",
    "chunkSize": "chunk_size",
    "chunkOverlap": "chunk_overlap",
    "chunkUnit": "chunk_unit",
    "maxFileBytes": "max_file_bytes",
    "retryDelayMs": "retry_delay_ms",
}


def read_rag(value: Any, *, base: Path) -> RagSettings:
    """``false`` turns it off, ``true`` or nothing takes the defaults, an object sets options. Relative paths begin at ``base``.

    Raises ``ConfigurationError`` with the option's name and what it has to be.
    """
    if value is None or value is True:
        return RagSettings()
    if value is False:
        return RagSettings(enabled=False)
    if not isinstance(value, dict):
        raise ConfigurationError(
            f"rag in config.jsonc is {value!r}; write true, false or an object of options."
        )
    known = {*OPTIONS, "documents"}
    if unknown := sorted(set(map(str, value)) - known):
        raise ConfigurationError(
            f"rag in config.jsonc has no option {unknown[0]!r}; there are: {', '.join(sorted(known))}."
        )
    given = {ours: value[theirs] for theirs, ours in OPTIONS.items() if value.get(theirs) is not None}
    for option in ("retriever", "append_sources"):
        _check_function(option, given.get(option))
    documents = value.get("documents") or []
    if not isinstance(documents, list):
        raise ConfigurationError(
            "rag.documents in config.jsonc has to be a list of paths or {id, text, source}."
        )
    try:
        return RagSettings(**given, documents=tuple(_document(each, base) for each in documents))
    except ValidationError as error:
        first = error.errors()[0]
        place = str(first["loc"][0]) if first["loc"] else ""
        name = next((theirs for theirs, ours in OPTIONS.items() if ours == place), place)
        reason = str(first["msg"]).removeprefix("Value error, ")
        raise ConfigurationError(f"rag.{name} in config.jsonc cannot be used: {reason}.") from error


def _check_function(option: str, value: Any) -> None:
    if isinstance(value, str) and not all(part.strip() for part in value.partition(":")[::2]):
        name = next(theirs for theirs, ours in OPTIONS.items() if ours == option)
        raise ConfigurationError(f'rag.{name} in config.jsonc is {value!r}; write "package.module:function".')


def _document(value: Any, base: Path) -> DocumentSource:
    if isinstance(value, str) and value.strip():
        return DocumentSource(path=str(base / Path(value).expanduser()))
    if isinstance(value, dict) and value.get("id") and isinstance(value.get("text"), str):
        return DocumentSource(
            id=str(value["id"]), text=value["text"], source=str(value.get("source") or value["id"])
        )
    raise ConfigurationError(
        f"rag.documents in config.jsonc has {value!r}; write a path or {{id, text, source}}."
    )
