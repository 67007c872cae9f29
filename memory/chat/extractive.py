"""The answer where no language model is connected: what was recalled, quoted, and marked as no more than that."""

from __future__ import annotations

from collections.abc import Sequence

from memory.chat.links import without_hidden_links
from memory.chat.quoting import one_line
from memory.conf import get_config
from memory.types import Citation, RecalledMemory

MAX_LINES = 5
LINE_LIMIT = 300
PASSAGE_LIMIT = 400

NO_MODEL = "No language model is connected, so this is not an answer but what I remember that comes closest:"
FROM_DOCUMENTS = "No language model is connected, so this is not an answer but what comes closest in the documents{and_memories}:"
NOTHING = (
    "No language model is connected, so I can only look up what I remember. I remember nothing about that."
)
MEMORY_OFF = (
    "No language model is connected and long-term memory is switched off, so I have nothing to answer with. "
    "Set MUSEBOT_CHAT_MODEL to connect a model."
)


def extractive_answer(memories: Sequence[RecalledMemory], passages: Sequence[Citation] = ()) -> str:
    """Passages of documents, then the best memories (at most five) with date and author, under a line that says what they are."""
    if passages:
        found = [f"> [{one.n}] {one.citation}: {_quoted(one.text, PASSAGE_LIMIT)}" for one in passages]
        also = " and in what I remember" if memories else ""
        rest = extractive_answer(memories).split("\n")[1:] if memories else []
        return "\n".join([FROM_DOCUMENTS.format(and_memories=also), *found, *rest])
    if not get_config().memory_enabled:
        return MEMORY_OFF
    if not memories:
        return NOTHING
    quotes = [
        f"> {memory.sent_at:%Y-%m-%d}, {one_line(memory.author_name, 80)}: {_quoted(memory.text, LINE_LIMIT)}"
        for memory in memories[:MAX_LINES]
    ]
    return "\n".join([NO_MODEL, *quotes])


def _quoted(text: str, limit: int) -> str:
    return without_hidden_links(one_line(text, limit))
