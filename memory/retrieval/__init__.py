"""Recall: which memories answer a question, and the operator's search."""

from memory.retrieval.operator_search import SearchHit, search
from memory.retrieval.service import PATIENCE, recall

__all__ = ["PATIENCE", "SearchHit", "recall", "search"]
