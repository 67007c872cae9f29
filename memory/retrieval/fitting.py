"""Weights of recall from questions whose answers are known: the choice among the candidates, as a conditional logit.

The likelihood that an answer is chosen from its short list is made as large as it gets, less a penalty on weights that stray from where
they began, in units of each feature's spread. Convex, so there is one best set; Newton's method finds it in a few steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

PENALTY = 30.0
STEPS = 40
CLOSE_ENOUGH = 1e-6


@dataclass(frozen=True, slots=True)
class Case:
    """One question: the features of its short list and which of them are answers."""

    values: Array
    """Shape (candidates, features)."""
    answers: npt.NDArray[np.bool_]
    share: float
    """Of all its answers, those that are in the short list."""


def fit(cases: Sequence[Case], start: Array, *, penalty: float = PENALTY) -> Array:
    """The weights, of the shape of ``start``, which is also what they are drawn towards. Without any answer: ``start``."""
    cases = [case for case in cases if case.answers.any()]
    if not cases:
        return start
    spread = np.concatenate([case.values for case in cases]).std(axis=0)
    spread[spread < 1e-9] = np.inf  # a feature that never differs tells nothing, and keeps its weight
    scaled = [case.values / spread for case in cases]
    begin = np.where(np.isfinite(spread), start * np.where(np.isfinite(spread), spread, 0.0), 0.0)
    weights = begin
    value, gradient, curvature = _likelihood(cases, scaled, weights, begin, penalty)
    for _ in range(STEPS):
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while True:
            tried = weights - size * step
            found = _likelihood(cases, scaled, tried, begin, penalty)
            if found[0] <= value or size < 1e-4:
                break
            size /= 2
        gained = value - found[0]
        weights, (value, gradient, curvature) = tried, found
        if gained < CLOSE_ENOUGH * max(1.0, abs(value)):
            break
    return np.where(np.isfinite(spread), weights / spread, start)


def _likelihood(
    cases: Sequence[Case], scaled: Sequence[Array], weights: Array, begin: Array, penalty: float
) -> tuple[float, Array, Array]:
    """What is to become small, its gradient and its curvature."""
    away = weights - begin
    value = penalty * float(away @ away) / 2
    gradient = penalty * away
    curvature = penalty * np.eye(len(weights))
    for case, values in zip(cases, scaled, strict=True):
        scores = values @ weights
        top = scores.max()
        chances = np.exp(scores - top)
        total = chances.sum()
        chances /= total
        wanted = case.answers * (case.share / case.answers.sum())
        value += case.share * float(np.log(total) + top) - float(wanted @ scores)
        mean = chances @ values
        gradient = gradient + case.share * mean - wanted @ values
        curvature = curvature + case.share * ((values * chances[:, None]).T @ values - np.outer(mean, mean))
    return value, gradient, curvature
