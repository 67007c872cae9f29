"""Which of the ranked memories go into the prompt: no more than ``top_k``, within the budget, none twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory.conf import get_config
from memory.llm.tokens import count_tokens
from memory.retrieval.beside import LEAST_BUDGET, MEMORIES, beside
from memory.retrieval.candidates import Row, load_contents
from memory.retrieval.lines import line_of
from memory.retrieval.scoring import Scored
from memory.retrieval.weights import Weights
from memory.types import RecalledMemory, RecallQuery

LEFT_OUT_SHOWN = 20
"""Of what was left out, the best are kept for the trace."""


def select(
    scored: Sequence[Scored], query: RecallQuery, weights: Weights
) -> tuple[tuple[RecalledMemory, ...], tuple[RecalledMemory, ...]]:
    """What is taken, in rank order, and the best of what is not, with the reason (``score``, ``budget``, ``top_k``).

    Where the prompt has room for it and the caller sets no number, what was said beside the best comes after them.
    """
    settings = get_config().memory
    top_k = settings.top_k if query.top_k is None else query.top_k
    budget = settings.token_budget if query.token_budget is None else query.token_budget
    looked_at = _without_repetitions(scored)[: top_k + LEFT_OUT_SHOWN]
    contents = load_contents([each.row.key for each in looked_at])
    taken: list[RecalledMemory] = []
    left_out: list[RecalledMemory] = []
    spent = 0
    for each in looked_at:
        line = line_of(each.row, contents.get(each.row.key, {}), settings.inject_format)
        tokens = count_tokens(line) + 1  # and the line's end
        why = "" if each.relevant else "score"
        if not why and len(taken) >= top_k:
            why = "top_k"
        if not why and spent + tokens > budget:
            why = "budget"
        memory = _memory(each, weights, line=line, tokens=tokens, why=why)
        if why:
            left_out.append(memory)
        else:
            taken.append(memory)
            spent += tokens
    if query.top_k is None and budget >= LEAST_BUDGET and taken:
        taken += _beside(scored, taken, query, budget - spent)
    return tuple(taken), tuple(left_out[:LEFT_OUT_SHOWN])


def _beside(
    scored: Sequence[Scored], taken: Sequence[RecalledMemory], query: RecallQuery, budget: int
) -> list[RecalledMemory]:
    """Lines of what was said beside the best, after all others: they answer less often."""
    rows = {each.row.key: each.row for each in scored}
    best = [rows[memory.key] for memory in taken[:MEMORIES]]
    keys = {memory.key for memory in taken}
    near = beside(best, taken=keys, exclude=query.exclude_discord_ids)
    contents = load_contents([row.key for row in near])
    found = []
    for row in near:
        line = line_of(row, contents.get(row.key, {}), get_config().memory.inject_format)
        tokens = count_tokens(line) + 1
        if tokens <= budget:
            budget -= tokens
            found.append(_recalled(row, line=line, tokens=tokens, scores={"beside": 1.0}))
    return found


def _without_repetitions(scored: Sequence[Scored]) -> list[Scored]:
    """The first of those that say the same in the same words by the same author."""
    seen: set[tuple[int, str]] = set()
    kept = []
    for each in scored:
        said = (each.row.author_id, " ".join(f"{each.row.text} {each.row.captions}".casefold().split()))
        if said not in seen:
            seen.add(said)
            kept.append(each)
    return kept


def _memory(each: Scored, weights: Weights, *, line: str, tokens: int, why: str) -> RecalledMemory:
    return _recalled(
        each.row, line=line, tokens=tokens, scores=each.parts(weights), score=round(each.score, 4), why=why
    )


def _recalled(
    row: Row, *, line: str, tokens: int, scores: Mapping[str, float], score: float = 0.0, why: str = ""
) -> RecalledMemory:
    return RecalledMemory(
        key=row.key,
        discord_message_id=row.discord_id,
        channel_id=row.channel_id,
        channel_name=row.channel_name,
        author_id=row.author_id,
        author_name=row.author_name,
        text=row.text,
        sent_at=row.sent_at,
        score=score,
        scores=scores,
        line=line,
        tokens=tokens,
        injected=not why,
        why_excluded=why,
    )
