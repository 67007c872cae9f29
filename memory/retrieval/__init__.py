"""Recall: which memories answer a question, and the operator's search."""

from memory.retrieval.operator_search import SearchHit, search
from memory.retrieval.service import recall

__all__ = ["SearchHit", "recall", "search"]
