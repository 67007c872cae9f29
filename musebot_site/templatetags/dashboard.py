"""Small pieces of markup that every page uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django import template
from django.contrib.humanize.templatetags.humanize import intcomma
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memory import erasure
from memory.selectors.guilds import GuildRow
from musebot_site.options import options

register = template.Library()

STATE_ICONS = {"ok": "ok", "busy": "busy", "attention": "attention", "failed": "failed", "off": "off"}


@register.simple_tag
def server_options(rows: Iterable[GuildRow], chosen: GuildRow | None) -> SafeString:
    """Servers to choose from."""
    return options(((row.id, row.name) for row in rows), {str(chosen.id)} if chosen is not None else ())


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """A picture out of the sprite; with a label it is read out, without one it is decoration."""
    href = f"{static('svg/icons.svg')}#{name}"
    if label:
        return format_html('<svg class="icon" role="img" aria-label="{}"><use href="{}"/></svg>', label, href)
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}"/></svg>', href)


@register.simple_tag
def badge(state: str, word: str) -> SafeString:
    """A state: colour, icon and word."""
    return format_html(
        '<span class="badge badge-{}">{}{}</span>', state, icon(STATE_ICONS.get(state, "off")), word
    )


@register.simple_tag
def when(moment: datetime | None, empty: str = "never") -> SafeString:
    """A time relative to now, with the exact one on hover."""
    if moment is None:
        return format_html('<span class="muted">{}</span>', empty)
    local = timezone.localtime(moment)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(),
        f"{local:%A}, {local.day} {local:%B %Y, %H:%M:%S %Z}",
        relative(local, timezone.localtime()),
    )


def relative(moment: datetime, now: datetime) -> str:
    """``5 min ago``, ``yesterday``, ``12 Mar`` – the more precise, the nearer."""
    past = now - moment
    if past < timedelta(seconds=-45):
        return f"in {_span(-past)}" if past > timedelta(days=-1) else f"{moment.day} {moment:%b %Y}"
    if past < timedelta(seconds=45):
        return "just now"
    if past < timedelta(hours=22):
        return f"{_span(past)} ago"
    days = (now.date() - moment.date()).days
    if days <= 1:
        return "yesterday"
    if days < 7:
        return f"{days} days ago"
    return f"{moment.day} {moment:%b}" if moment.year == now.year else f"{moment.day} {moment:%b %Y}"


def _span(span: timedelta) -> str:
    minutes = max(round(span.total_seconds() / 60), 1)
    return f"{minutes} min" if minutes < 60 else f"{round(minutes / 60)} h"


@register.filter
def number(value: int | float | None) -> str:
    """With thousands separated; a dash for nothing."""
    return "–" if value is None else str(intcomma(value))


@register.filter
def at_most(value: int, limit: int = 10_000) -> str:
    """A count that stopped at a limit."""
    return f"more than {intcomma(limit)}" if value > limit else str(intcomma(value))


@register.filter
def milliseconds(value: float | int | str | None) -> str:
    if value is None or isinstance(value, str):  # what a template did not find is an empty text
        return "–"
    return (
        f"{value / 1000:.1f} s" if value >= 1000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"
    )


@register.filter
def time_left(seconds: float | None) -> str:
    """``40 s``, ``12 min``, ``3 h``: as exact as an estimate can be."""
    if seconds is None:
        return "–"
    if seconds < 90:
        return f"about {max(round(seconds), 1)} s"
    return f"about {_span(timedelta(seconds=seconds))}"


@register.filter
def score(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


@register.filter
def answer(text: str) -> SafeString:
    """An answer with its quotes set off; playground.js does the same as it streams."""
    lines = [
        format_html('<span class="quote">{}</span>', line[2:])
        if line.startswith("> ")
        else format_html("{}\n", line)
        for line in text.splitlines()
    ]
    return format_html_join("", "{}", ((line,) for line in lines))


@register.filter
def words(value: str) -> str:
    """A stable code as words: ``same_channel_only`` → ``same channel only``."""
    return value.replace("_", " ").replace("-", " ")


STORES = {
    "memories": "Memories",
    "answers": "Answers of the bot to them",
    "vectors": "Vectors",
    "words": "Entries of the full-text index",
    "proposals": "Proposals of a persona",
    "traces": "Traces of replies",
    "answers_to_others": "Answers to others that leaned on their words",
    "facts": "Facts",
    "servers": "Names on servers",
    "names": "Names on servers",
    "days": "Days in the statistics",
    "queued": "Work in the queue",
    "conversations": "Private conversations",
    "members": "Consent",
    "blocks": "Core memory blocks",
    "archive": "Archival entries",
}


@register.filter
def store(name: str) -> str:
    """A store's name in the counts of an erasure, in words."""
    return STORES.get(name) or words(name).capitalize()


@register.filter
def other_scores(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """The parts of a score beside nearness of meaning and of words."""
    return [(name, value) for name, value in scores.items() if name not in {"cosine", "bm25"}]


PASSAGE_SCORES = {
    "cosine": "vector",
    "vector": "vector",
    "bm25": "keyword",
    "keyword": "keyword",
    "fused": "fused",
    "coverage": "words",
}


@register.filter
def passage_scores(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """The parts of a passage's score that people can make something of."""
    return [(PASSAGE_SCORES[name], value) for name, value in scores.items() if name in PASSAGE_SCORES]


@register.filter
def percent(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:.0f}%"


@register.filter
def got_worse(count: int) -> str:
    return f"{count} got worse"


@register.filter
def measure(values: Mapping[str, float], name: str) -> float | None:
    return values.get(name)


@register.simple_tag
def what_was_searched() -> str:
    """What the re-scan of an erasure looked into, which depends on where things are stored."""
    return erasure.searched()
