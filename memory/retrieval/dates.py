"""Dates that a question names, questions that ask for a time, and messages that speak of one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memory.retrieval.date_words import (
    AGO_AFTER,
    AGO_BEFORE,
    LAST_MONTH,
    LAST_WEEK,
    MONTHS,
    MONTHS_AND_WORDS,
    NUMBERS,
    THIS_MONTH,
    TODAY,
    UNITS,
    WEEKDAYS,
    YESTERDAY,
)


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _bounded(words: Iterable[str]) -> str:
    """Any of the words as whole ones; where words have no spaces between them, anywhere."""
    spaced: list[str] = []
    run_on: list[str] = []
    for word in words:
        (run_on if RUN_ON.search(word) else spaced).append(word)
    return rf"(?:\b(?:{_any_of(spaced)})\b" + (f"|{_any_of(run_on)})" if run_on else ")")


RUN_ON = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_MONTH = rf"({_bounded(MONTHS)})\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th|er|º)?"
_OF = r"(?:of|de|di|del)"
_DAY_MONTH = re.compile(
    rf"\b{_DAY}\.?(?:\s+{_OF})?\s*{_MONTH}(?:,?\s+(?:{_OF}\s+)?(\d{{4}}))?", re.IGNORECASE
)
_MONTH_DAY = re.compile(rf"{_MONTH}\s+{_DAY}\b(?:,?\s+(\d{{4}}))?", re.IGNORECASE)
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_DOTTED = re.compile(r"\b(\d{1,2})\.\s?(\d{1,2})\.(\d{4})\b")
# 2023年5月8日, 5月8日, 5월 8일, 5月
_NUMBERED = re.compile(r"(?:(\d{4})\s?[年년]\s?)?(\d{1,2})\s?[月월](?:\s?(\d{1,2})\s?[日号號일])?")
_MONTH_ALONE = re.compile(
    r"(?:\b(in|of|since|until|during|last|this|next|early|late|mid|im|seit|en|em|de|dans|depuis|desde|a|ad|di|da|sinds|w|od|в|с|во)"
    rf"[\s-]+)?{_MONTH}(?:,?\s+(?:{_OF}\s+)?(\d{{4}}))?",
    re.IGNORECASE,
)
_UNIT = rf"(\d{{1,3}}|{_any_of(NUMBERS)})(?:\s+of)?\s*({_any_of(UNITS)})"
_AGO = re.compile(
    rf"(?<!\w){_UNIT}\s*(?:{_any_of(AGO_AFTER)})|\b(?:{_any_of(AGO_BEFORE)})\s+{_UNIT}(?!\w)", re.IGNORECASE
)
_WEEKDAY = re.compile(_bounded(WEEKDAYS), re.IGNORECASE)
_YESTERDAY, _TODAY, _LAST_WEEK, _LAST_MONTH, _THIS_MONTH = (
    re.compile(_bounded(words), re.IGNORECASE)
    for words in (YESTERDAY, TODAY, LAST_WEEK, LAST_MONTH, THIS_MONTH)
)
# "hier" is yesterday in French, and here in German and Dutch.
_HIER = re.compile(r"\bhier\b", re.IGNORECASE)
_FRENCH = re.compile(
    r"\b(?:que|quoi|quand|qui|où|est-ce|avons|avez|avait|ai|as|a|était|soir|matin)\b|qu['’]", re.IGNORECASE
)

_WHEN = re.compile(
    r"\b(?:when|(?:what|which) (?:date|day|month|year|time|week)|how long|how many (?:days|weeks|months|years)|since when|"
    r"wann|seit wann|quand|depuis quand|cuándo|quando|wanneer|kiedy|когда)\b|什么时候|什麼時候|何时|何時|哪天|いつ|언제|متى|เมื่อไร|เมื่อไหร่|ne zaman",
    re.IGNORECASE,
)
_TIME_WORD = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|this (?:past|week|month|year|morning|weekend|afternoon|evening)|"
    r"(?:week|weekend|month|year|day|hour)s?|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|"
    r"january|february|march|april|june|july|august|september|october|november|december|recently|just|since|soon|now|"
    r"(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)|\d{1,2}[:.]\d\d|o'clock|"
    r"gestern|heute|morgen|letzte[nrs]?|nächste[nrs]?|hier|demain|aujourd'hui|dernière?|prochaine?|ayer|hoy|mañana|pasad[ao]|"
    r"ontem|hoje|amanhã|ieri|oggi|domani|gisteren|vandaag|morgen)\b|昨天|今天|明天|昨日|今日|明日|어제|오늘|내일",
    re.IGNORECASE,
)


_TIME_ELSEWHERE = re.compile(
    _bounded(
        {
            *WEEKDAYS,
            *(name for name in MONTHS if name not in MONTHS_AND_WORDS),
            *YESTERDAY,
            *TODAY,
            *LAST_WEEK,
            *LAST_MONTH,
            *THIS_MONTH,
        }
    )
    + r"|\d{1,2}\s?[月월]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NamedDates:
    """Days and months of a question; the year is None where it is not said."""

    days: tuple[tuple[int | None, int, int], ...] = ()
    months: tuple[tuple[int | None, int], ...] = ()

    def on_day(self, day: date) -> bool:
        return any(
            month == day.month and d == day.day and year in (None, day.year) for year, month, d in self.days
        )

    def near_day(self, day: date, within: int = 3) -> bool:
        for year, month, number in self.days:
            # Without a year, New Year's Eve is near the second of January as well.
            for candidate in (year,) if year else (day.year - 1, day.year, day.year + 1):
                try:
                    if abs((date(candidate, month, number) - day).days) <= within:
                        return True
                except ValueError:
                    continue
        return False

    def in_month(self, day: date) -> bool:
        return any(month == day.month and year in (None, day.year) for year, month in self.months)


def asks_when(question: str) -> bool:
    return bool(_WHEN.search(question))


def tells_time(text: str) -> bool:
    return bool(_TIME_WORD.search(text) or (not text.isascii() and _TIME_ELSEWHERE.search(text)))


def named_dates(question: str, now: datetime) -> NamedDates:
    """Dates as they are written (``8 May 2023``, ``May 8th``, ``2023-05-08``) and relative ones ("yesterday")."""
    days: list[tuple[int | None, int, int]] = []
    for match in _DAY_MONTH.finditer(question):
        days.append((_year(match[3]), _month(match[2]), int(match[1])))
    for match in _MONTH_DAY.finditer(question):
        days.append((_year(match[3]), _month(match[1]), int(match[2])))
    days += [(int(m[1]), int(m[2]), int(m[3])) for m in _ISO.finditer(question)]
    days += [(int(m[3]), int(m[2]), int(m[1])) for m in _DOTTED.finditer(question)]
    months = [found for match in _MONTH_ALONE.finditer(question) if (found := _month_alone(match, question))]
    for match in _NUMBERED.finditer(question):
        if match[3]:
            days.append((_year(match[1]), int(match[2]), int(match[3])))
        elif 1 <= int(match[2]) <= 12:
            months.append((_year(match[1]), int(match[2])))
    _relative(question, now.date(), days, months)
    return NamedDates(tuple(day for day in days if _exists(*day)), tuple(months))


def _year(written: str | None) -> int | None:
    return int(written) if written and int(written) > 0 else None


def _month(written: str) -> int:
    return MONTHS[written.lower().rstrip(".")]


def _exists(year: int | None, month: int, day: int) -> bool:
    try:
        date(year or 2024, month, day)
    except ValueError:
        return False
    return True


def _month_alone(match: re.Match[str], question: str) -> tuple[int | None, int] | None:
    name = match[2].lower()
    # "may", "march" and short forms are words too: they need a preposition, a year, or a capital inside the sentence.
    sure = bool(match[1] or match[3]) or (match.start(2) > 0 and match[2][0].isupper())
    if not sure and name in MONTHS_AND_WORDS:
        return None
    return _year(match[3]), _month(name)


def _relative(
    question: str, today: date, days: list[tuple[int | None, int, int]], months: list[tuple[int | None, int]]
) -> None:
    def add(day: date) -> None:
        days.append((day.year, day.month, day.day))

    if _YESTERDAY.search(question) or (_HIER.search(question) and _FRENCH.search(question)):
        add(today - timedelta(days=1))
    if _TODAY.search(question):
        add(today)
    if _LAST_WEEK.search(question):
        add(today - timedelta(days=7))
    for match in _WEEKDAY.finditer(question):
        # The latest one before today.
        add(today - timedelta(days=(today.weekday() - WEEKDAYS[match[0].lower()] - 1) % 7 + 1))
    for match in _AGO.finditer(question):
        number, unit = (match[1] or match[3]).lower(), (match[2] or match[4]).lower()
        add(today - timedelta(days=(NUMBERS.get(number) or int(number)) * UNITS[unit]))
    if _THIS_MONTH.search(question):
        months.append((today.year, today.month))
    if _LAST_MONTH.search(question):
        before = today.replace(day=1) - timedelta(days=1)
        months.append((before.year, before.month))
