"""The key ``memory`` of ``config.jsonc``: what the bot keeps of each member as short facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from memory.conf import AutoExtract, FactSettings, Frozen, ModelRef
from memory.errors import ConfigurationError

Kind = TypeVar("Kind", bound=Frozen)

OPTIONS = {
    "maxFacts": "max_facts",
    "ttl": "ttl",
    "maxFactLength": "max_fact_length",
    "inject": "inject",
    "injectInGroups": "inject_in_groups",
    "namespace": "namespace",
}
EXTRACTION = {
    "maxTokens": "max_tokens",
    "maxFactsPerTurn": "max_facts_per_turn",
    "instructions": "instructions",
    "filter": "filter",
}
PROVIDERS = ("ollama", "openai")


def read_facts(value: Any, *, chat_model: ModelRef | None) -> FactSettings:
    """``true`` takes the defaults, ``false`` or nothing leaves it off, an object sets options.

    Raises ``ConfigurationError`` with the option's name and what it has to be.
    """
    if value is None or value is False:
        return FactSettings()
    if value is True:
        return FactSettings(enabled=True)
    block = _object("memory", value, {*OPTIONS, "type", "autoExtract"})
    if block.get("type", "per-user") != "per-user":
        raise ConfigurationError("memory.type in config.jsonc can only be 'per-user'.")
    given = {ours: block[theirs] for theirs, ours in OPTIONS.items() if block.get(theirs) is not None}
    extraction = _extraction(block.get("autoExtract"), chat_model)
    return _made(FactSettings, OPTIONS, "memory", enabled=True, auto_extract=extraction, **given)


def _extraction(value: Any, chat_model: ModelRef | None) -> AutoExtract | None:
    if value is None or value is False:
        return None
    if value is True:
        return AutoExtract()
    where = "memory.autoExtract"
    block = _object(where, value, {*EXTRACTION, "model"})
    given = {ours: block[theirs] for theirs, ours in EXTRACTION.items() if block.get(theirs) is not None}
    if block.get("model"):
        given["model"] = _model(str(block["model"]), chat_model)
    path = str(given.get("filter", ""))
    if path and not all(part.strip() for part in (*path.partition(":")[::2],)):
        raise ConfigurationError(f'{where}.filter is {path!r}; write "package.module:function".')
    return _made(AutoExtract, EXTRACTION, where, **given)


def _model(text: str, chat_model: ModelRef | None) -> ModelRef:
    """``ollama:NAME`` or ``openai:NAME``; a bare name is of the chat model's provider."""
    provider, colon, name = text.strip().partition(":")
    if colon and provider in PROVIDERS and name:
        return ModelRef(provider=provider, name=name)  # type: ignore[arg-type]
    usual = chat_model.provider if chat_model and chat_model.provider in PROVIDERS else "ollama"
    return ModelRef(provider=usual, name=text.strip())


def _object(where: str, value: Any, known: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigurationError(
            f"{where} in config.jsonc is {value!r}; write true, false or an object of options."
        )
    if unknown := sorted(set(map(str, value)) - known):
        raise ConfigurationError(
            f"{where} in config.jsonc has no option {unknown[0]!r}; there are: {', '.join(sorted(known))}."
        )
    return value


def _made(kind: type[Kind], names: Mapping[str, str], where: str, **given: Any) -> Kind:
    try:
        return kind(**given)
    except ValidationError as error:
        first = error.errors()[0]
        place = str(first["loc"][0]) if first["loc"] else ""
        name = next((theirs for theirs, ours in names.items() if ours == place), place)
        reason = str(first["msg"]).removeprefix("Value error, ")
        raise ConfigurationError(f"{where}.{name} in config.jsonc cannot be used: {reason}.") from error
