"""Dates that a question names, questions that ask for a time, and messages that speak of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_SHORT = {name[:3]: number for number, name in enumerate(MONTHS, 1)} | {"sept": 9}
_MONTH = r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DAY_MONTH = re.compile(rf"\b{_DAY}\.?(?:\s+of)?\s+{_MONTH}(?:,?\s+(\d{{4}}))?", re.IGNORECASE)
_MONTH_DAY = re.compile(rf"\b{_MONTH}\s+{_DAY}\b(?:,?\s+(\d{{4}}))?", re.IGNORECASE)
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_DOTTED = re.compile(r"\b(\d{1,2})\.\s?(\d{1,2})\.(\d{4})\b")
_MONTH_ALONE = re.compile(
    rf"(?:\b(in|of|since|until|during|last|this|next|early|late|mid)[\s-]+)?\b{_MONTH}(?:,?\s+(\d{{4}}))?",
    re.IGNORECASE,
)
_DAYS_AGO = re.compile(
    r"\b(\d{1,3}|a|one|two|three|four|five|six)\s+(day|week|month)s?\s+ago\b", re.IGNORECASE
)
_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}

_WHEN = re.compile(
    r"\b(?:when|(?:what|which) (?:date|day|month|year|time|week)|how long|how many (?:days|weeks|months|years)|since when|"
    r"wann|seit wann|quand|depuis quand|cuándo|quando|wanneer|kiedy|когда)\b|什么时候|何时|いつ|언제|متى|เมื่อไร|ne zaman",
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
    return bool(_TIME_WORD.search(text))


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
    _relative(question.lower(), now.date(), days, months)
    return NamedDates(tuple(day for day in days if _exists(*day)), tuple(months))


def _year(written: str | None) -> int | None:
    return int(written) if written and int(written) > 0 else None


def _month(written: str) -> int:
    return _SHORT[written.lower()[:3]]


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
    if not sure and (name in {"may", "march"} or name not in MONTHS):
        return None
    return _year(match[3]), _month(name)


def _relative(
    question: str, today: date, days: list[tuple[int | None, int, int]], months: list[tuple[int | None, int]]
) -> None:
    def add(day: date) -> None:
        days.append((day.year, day.month, day.day))

    if "yesterday" in question:
        add(today - timedelta(days=1))
    if re.search(r"\b(?:today|this morning)\b", question):
        add(today)
    if "last week" in question:
        add(today - timedelta(days=7))
    for match in _DAYS_AGO.finditer(question):
        number = _NUMBERS.get(match[1]) or int(match[1])
        add(today - timedelta(days=number * {"day": 1, "week": 7, "month": 30}[match[2]]))
    if "this month" in question:
        months.append((today.year, today.month))
    if "last month" in question:
        before = today.replace(day=1) - timedelta(days=1)
        months.append((before.year, before.month))
