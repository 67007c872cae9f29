"""Fixtures that several files of this folder use."""

from tests.ollama_servers import sims

__all__ = ["sims"]
