"""Fixtures that several files of this folder use."""

from tests.document_files import documents_folder
from tests.ollama_servers import sims

__all__ = ["documents_folder", "sims"]
