"""Weights of the features of recall: what each is, the shipped sets, and the set that an installation has fitted for itself.

They belong to an embedder, whose cosines have a range of their own. ``refit_recall`` fits them on an evaluation set and writes
``recall-weights.json`` into the installation's home; a set found there wins over the shipped one of its embedder.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from memory.conf import get_config
from memory.llm.base import EmbedderIdentity

logger = logging.getLogger(__name__)

FILE = "recall-weights.json"

FEATURES: Mapping[str, str] = MappingProxyType(
    {
        "fielded": "BM25 over words, author and date, divided by the best of the query",
        "fielded_squared": "the same, squared: the best matches stand out",
        "body": "BM25 over the message's own words, divided likewise",
        "cosine": "cosine of the vectors, divided likewise",
        "coverage": "share of the question's words that the message has, rare ones counting more",
        "context": "what the two messages before it add to that share",
        "first_named": "the author is the member whom the question names first",
        "named": "the author is named, and not everybody is",
        "own_named": "the author is named, and speaks of themself (I, my, we)",
        "own_other": "the author is not the one who is named, and speaks of themself",
        "yours_other": "the author is not the one who is named, and speaks to somebody",
        "exact_date": "sent on a day that the question names",
        "near_date": "within three days of one",
        "month": "in a month that the question names",
        "when": "the question asks when, and the message has a word of time",
        "names": "it names somebody or something",
        "question": "share of it that is a question",
        "length": "logarithm of one more than its words",
        "one_away": "the best base score (mean of fielded BM25 and cosine) of the messages next to it",
        "two_away": "the same two messages away",
        "before": "the base score of the message that it answers, or that stands before it",
        "answers": "the base score of the message that it answers, where that ends with a question",
        "asked": "the share of the question's words in what somebody else asked right before it",
        "asked_named": "the same where the author is named",
        "episode": "a third of the sum of the three best base scores of its episode",
    }
)
NAMES = tuple(FEATURES)


@dataclass(frozen=True, slots=True)
class Weights:
    of: Mapping[str, float]
    """By the names of ``FEATURES``; one that is missing counts nothing."""
    least_cosine: float = 0.0
    """Without a common word, a memory less near than this is not used at all."""

    def array(self) -> npt.NDArray[np.float64]:
        return np.array([self.of.get(name, 0.0) for name in NAMES])


# Fitted by refit_recall's method on long conversations between two people, each by itself and two at once in one channel, with
# their names and in the first person.
LOCAL = Weights(
    {
        "fielded": -0.57,
        "fielded_squared": 1.48,
        "body": 0.32,
        "cosine": 2.72,
        "coverage": 3.48,
        "context": 4.33,
        "first_named": 0.64,
        "named": 0.45,
        "own_named": 0.69,
        "own_other": 0.59,
        "yours_other": -1.34,
        "exact_date": 1.85,
        "near_date": 2.08,
        "month": 1.47,
        "when": 1.88,
        "names": 0.40,
        "question": -3.16,
        "length": 0.21,
        "one_away": 0.80,
        "two_away": 0.69,
        "before": -1.16,
        "answers": 1.15,
        "asked": 2.89,
        "asked_named": -1.30,
        "episode": 4.06,
    }
)
# For embedders that nobody has fitted: their cosines tell somewhat more than those of the built-in one.
DEFAULT = Weights({**LOCAL.of, "cosine": LOCAL.of["cosine"] * 1.3})
# The hashing embedder of the tests gives texts without a common word any cosine around nothing.
HASH = replace(LOCAL, least_cosine=-1.0)
_SETS = {"local": LOCAL, "hash": HASH}


def weights_for(identity: EmbedderIdentity | None) -> Weights:
    """The set of an embedder, the installation's own before the shipped one; without an embedder that of the built-in one."""
    if identity is None:
        return LOCAL
    return fitted_here().get(name_of(identity)) or shipped(identity)


def shipped(identity: EmbedderIdentity) -> Weights:
    return _SETS.get(identity.provider, DEFAULT)


def name_of(identity: EmbedderIdentity) -> str:
    """How an embedder is called in the file of an installation: ``ollama:nomic-embed-text``."""
    return f"{identity.provider}:{identity.name}"


def path() -> Path:
    """The installation's own sets: ``{embedder: {"weights": {feature: number}, "least_cosine": number, …}}``."""
    return get_config().home / FILE


def fitted_here() -> dict[str, Weights]:
    """The sets of that file by embedder; none where there is no file, or one that cannot be used (which is logged)."""
    file = path()
    try:
        changed = file.stat().st_mtime_ns
    except OSError:
        return {}
    return _read(file, changed)


def write(identity: EmbedderIdentity, weights: Weights, about: Mapping[str, object]) -> Path:
    """Puts a set into the file, beside those of other embedders. ``about`` says how it was found."""
    file = path()
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        stored = {}
    entry = {"weights": {name: round(value, 4) for name, value in weights.of.items()}}
    known = stored if isinstance(stored, dict) else {}
    known[name_of(identity)] = entry | {"least_cosine": weights.least_cosine, **about}
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(".new")
    beside.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    beside.replace(file)
    return file


@lru_cache(maxsize=4)
def _read(file: Path, changed: int) -> dict[str, Weights]:
    """``changed`` is when the file was, so that one that is written anew is read anew."""
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        return {
            name: Weights(
                {feature: float(value) for feature, value in entry["weights"].items() if feature in FEATURES},
                float(entry.get("least_cosine", 0.0)),
            )
            for name, entry in stored.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        logger.warning("%s cannot be used (%s); the shipped weights are", file.name, type(error).__name__)
        return {}
