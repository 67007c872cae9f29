"""What an embedding model wants in front of a text. Servers add none of it, and without it recall drops by half for some."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SEARCH = "Represent this sentence for searching relevant passages: "
_TASK = "Given a web search query, retrieve relevant passages that answer the query"


@dataclass(frozen=True, slots=True)
class Prefixes:
    document: str = ""
    query: str = ""


# The first pattern that is found in the name wins; sources are the models' own cards.
_FAMILIES: tuple[tuple[str, Prefixes], ...] = (
    (r"nomic-embed-(?!code)", Prefixes("search_document: ", "search_query: ")),
    (r"nomic-embed-code", Prefixes("", "Represent this query for searching relevant code: ")),
    (r"e5\b.*(instruct|mistral)|e5-mistral", Prefixes("", f"Instruct: {_TASK}\nQuery: ")),
    (r"(^|[/\-_])e5([\-_:.]|$)", Prefixes("passage: ", "query: ")),
    (r"bge-m3|bge-multilingual", Prefixes()),
    (r"bge-.*zh", Prefixes("", "为这个句子生成表示以用于检索相关文章：")),
    (r"bge-", Prefixes("", _SEARCH)),
    (r"mxbai-embed", Prefixes("", _SEARCH)),
    (r"snowflake-arctic-embed(2|-[lm]-v2)", Prefixes("", "query: ")),
    (r"snowflake-arctic-embed", Prefixes("", _SEARCH)),
    (r"embedding-?gemma", Prefixes("title: none | text: ", "task: search result | query: ")),
    (r"qwen3-embedding", Prefixes("", f"Instruct: {_TASK}\nQuery:")),
)
_COMPILED = tuple((re.compile(pattern), prefixes) for pattern, prefixes in _FAMILIES)


def prefixes_for(model: str) -> Prefixes:
    """The prefixes of a model by its name (tags, owners and quantizations do not matter); none for an unknown one."""
    name = model.lower()
    return next((prefixes for pattern, prefixes in _COMPILED if pattern.search(name)), Prefixes())
