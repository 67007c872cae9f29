"""Memory providers: ``flat`` (the archive as lines in every prompt) and ``letta`` (searched when it is needed)."""

from memory.blocks.providers.base import MemoryProvider
from memory.blocks.providers.registry import names, provider, register

__all__ = ["MemoryProvider", "names", "provider", "register"]
