"""Which providers there are. Each registers itself where it lives."""

from __future__ import annotations

from importlib import import_module
from typing import TypeVar

from memory.blocks.providers.base import MemoryProvider
from memory.conf import get_config
from memory.errors import ConfigurationError

P = TypeVar("P", bound=type)

_known: dict[str, type[MemoryProvider]] = {}
MODULES = ("memory.blocks.providers.flat", "memory.blocks.providers.letta")


def register(provider: P) -> P:
    """Makes a class known under its ``name``."""
    _known[provider.name] = provider  # type: ignore[attr-defined]
    return provider


def names() -> list[str]:
    for module in MODULES:
        import_module(module)
    return sorted(_known)


def provider(name: str | None = None) -> MemoryProvider:
    """The provider of that name, or the configured one. Raises ``ConfigurationError`` for a name that is not known."""
    wanted = name or get_config().core_memory.provider
    if wanted not in names():
        raise ConfigurationError(f"There is no memory provider {wanted!r}; there are {', '.join(names())}.")
    return _known[wanted]()
