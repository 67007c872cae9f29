"""A streamed answer appears at once and is then edited at a pace that Discord allows."""

import pytest

from botrunner.pacing import FIRST_INTERVAL, LONGEST_INTERVAL, Pace


def test_the_first_piece_is_shown_at_once_and_the_next_after_the_interval() -> None:
    pace = Pace()
    assert pace.wait(100.0) == 0
    pace.shown(100.0, 100.1)
    assert pace.wait(100.1) == pytest.approx(FIRST_INTERVAL)
    assert pace.wait(105.0) == 0


def test_the_pace_slows_down_while_requests_are_held_back_and_recovers() -> None:
    pace = Pace()
    for _ in range(10):
        pace.shown(0.0, 3.0)
    assert pace.interval == LONGEST_INTERVAL
    for _ in range(30):
        pace.shown(0.0, 0.1)
    assert pace.interval == FIRST_INTERVAL
