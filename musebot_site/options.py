"""Choices of a list, written out in one go: a template for each of hundreds takes longer than all the rest of a page."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe


def options(choices: Iterable[Any], chosen: Collection[str]) -> SafeString:
    """``choices`` as Django has them: pairs of value and label, or of a group's name and its pairs."""
    return format_html_join("", "{}", ((_option(key, label, chosen),) for key, label in choices))


def _option(key: Any, label: Any, chosen: Collection[str]) -> SafeString:
    if isinstance(label, list | tuple):
        return format_html('<optgroup label="{}">{}</optgroup>', key, options(label, chosen))
    mark = mark_safe(" selected") if str(key) in chosen else ""
    return format_html('<option value="{}"{}>{}</option>', key, mark, label)
