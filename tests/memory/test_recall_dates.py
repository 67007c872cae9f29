"""Dates of questions, questions for a time, and messages that speak of one."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.retrieval.dates import asks_when, named_dates, tells_time

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("What happened on 8 May 2023?", date(2023, 5, 8)),
        ("What happened on May 8th, 2023?", date(2023, 5, 8)),
        ("the 8th of May", date(2021, 5, 8)),
        ("on 2023-05-08", date(2023, 5, 8)),
        ("am 8.5.2023", date(2023, 5, 8)),
        ("What did we do yesterday?", date(2026, 6, 30)),
        ("three days ago", date(2026, 6, 28)),
        ("What did we do on Friday?", date(2026, 6, 26)),
        ("on Wednesday", date(2026, 6, 24)),
        ("am 3. März", date(2024, 3, 3)),
        ("el 3 de mayo de 2024", date(2024, 5, 3)),
        ("3 maja", date(2023, 5, 3)),
        ("Was war gestern?", date(2026, 6, 30)),
        ("Qu'avons-nous fait hier ?", date(2026, 6, 30)),
        ("vor zwei Wochen", date(2026, 6, 17)),
        ("il y a 3 jours", date(2026, 6, 28)),
        ("due settimane fa", date(2026, 6, 17)),
        ("三天前", date(2026, 6, 28)),
        ("2023年5月8日", date(2023, 5, 8)),
        ("5월 8일에 뭐 했어", date(2026, 5, 8)),
        ("que s'est-il passé lundi", date(2026, 6, 29)),
    ],
)
def test_days(question: str, day: date) -> None:
    assert named_dates(question, NOW).on_day(day)


@pytest.mark.parametrize("question", ["on 31 February", "2023-13-45", "99.99.9999", "May 42", "8 May 0000"])
def test_days_that_do_not_exist_name_nothing(question: str) -> None:
    named = named_dates(question, NOW)
    assert not named.days or all(1 <= day <= 31 for _, _, day in named.days)


def test_near_reaches_over_the_end_of_the_year() -> None:
    named = named_dates("What did we do on 31 December?", NOW)
    assert named.near_day(date(2026, 1, 2)) and named.near_day(date(2025, 12, 29))
    assert not named.near_day(date(2026, 1, 5))


@pytest.mark.parametrize(
    ("question", "day", "expected"),
    [
        ("What happened in May?", date(2020, 5, 20), True),
        ("What happened in May 2023?", date(2020, 5, 20), False),
        ("what happened in march", date(2020, 3, 1), True),
        ("That may be so", date(2020, 5, 20), False),
        ("Did they march on?", date(2020, 3, 1), False),
        ("last month", date(2026, 6, 2), True),
        ("le mois dernier", date(2026, 6, 2), True),
        ("上个月", date(2026, 6, 2), True),
        ("เดือนที่แล้ว", date(2026, 6, 2), True),
        ("en mai", date(2020, 5, 20), True),
        ("в мае", date(2020, 5, 20), True),
        ("8月に", date(2020, 8, 20), True),
        ("which mayo was it", date(2020, 5, 20), False),
    ],
)
def test_months(question: str, day: date, expected: bool) -> None:
    assert named_dates(question, NOW).in_month(day) is expected


def test_here_in_german_is_not_yesterday_in_french() -> None:
    assert named_dates("Wer war hier?", NOW).days == ()


def test_questions_for_a_time() -> None:
    assert all(map(asks_when, ["When did she move?", "what year was it", "Wann war das?", "什么时候去"]))
    assert not any(map(asks_when, ["What did she say?", "Who whenever", ""]))


def test_messages_that_speak_of_a_time() -> None:
    assert all(
        map(
            tells_time,
            [
                "I moved last week",
                "see you on Friday",
                "seit gestern",
                "in 2019",
                "昨天去了",
                "on m'attend en février",
                "в пятницу",
            ],
        )
    )
    assert not any(map(tells_time, ["I like tea", "a friendly dog", ""]))


@given(st.text(max_size=80))
def test_any_text(text: str) -> None:
    named = named_dates(text, NOW)
    named.on_day(date(2024, 2, 29))
    named.near_day(date(2024, 2, 29))
    named.in_month(date(2024, 2, 29))
