"""Weights of the features. They belong to an embedder: its cosines have a range of their own, so each has a set.

Fitted on public and real conversations (long ones between two people, and busy channels).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memory.llm.base import EmbedderIdentity


@dataclass(frozen=True, slots=True)
class Weights:
    fielded: float
    """BM25 over words, author and date, divided by the best of the query."""
    body: float
    """BM25 over the message's own words, divided likewise."""
    cosine: float
    first_named: float
    """The author is the member whom the question names first."""
    named: float
    """The author is named, and not everybody is."""
    exact_date: float
    near_date: float
    """Within three days of a date of the question."""
    month: float
    when: float
    """The question asks when, and the message has a word of time."""
    question: float
    """The message is a question itself."""
    length: float
    """Logarithm of one more than its words."""
    one_away: float
    """The best base score (mean of fielded BM25 and cosine) of the messages before and after it."""
    two_away: float
    episode: float
    """A third of the sum of the three best base scores of its episode."""
    answers: float
    """The base score of the message before, where that is a question: what follows is likely its answer."""
    least_cosine: float = 0.0
    """Without a common word, a memory less near than this is not used at all."""


LOCAL = Weights(
    fielded=0.87,
    body=1.97,
    cosine=2.68,
    first_named=0.34,
    named=1.23,
    exact_date=3.29,
    near_date=4.68,
    month=3.0,
    when=2.21,
    question=-1.42,
    length=0.84,
    one_away=1.82,
    two_away=1.62,
    episode=3.49,
    answers=1.25,
)
DEFAULT = Weights(
    fielded=0.571,
    body=0.825,
    cosine=1.697,
    first_named=0.437,
    named=1.308,
    exact_date=1.971,
    near_date=2.683,
    month=1.767,
    when=1.171,
    question=-0.587,
    length=0.495,
    one_away=0.823,
    two_away=0.689,
    episode=1.939,
    answers=0.6,
)
# The hashing embedder of the tests gives texts without a common word any cosine around nothing.
HASH = replace(LOCAL, least_cosine=-1.0)
_SETS = {"local": LOCAL, "hash": HASH}


def weights_for(identity: EmbedderIdentity | None) -> Weights:
    """The set of an embedder; without one (no vectors yet) that of the built-in one."""
    return LOCAL if identity is None else _SETS.get(identity.provider, DEFAULT)
