"""The one fetcher for every address that a member, a document or a page supplies."""

from memory.web.fetcher import IMAGE, PAGE, Fetched, FetchError, Limits, fetch

__all__ = ["IMAGE", "PAGE", "FetchError", "Fetched", "Limits", "fetch"]
