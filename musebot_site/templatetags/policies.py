"""Policies in words: a value, and who says so."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memory.policies import Setting
from musebot_site.dashboard.server_forms import WORDS

register = template.Library()

SHORT = {"readers": "what its readers can read"}

ORIGINS = {
    "here": "set here",
    "channel": "from the channel",
    "category": "from the category",
    "server": "from the server",
    "configuration": "from the configuration",
    "switched off": "the server is switched off",
}


@register.simple_tag
def setting(name: str, value: Setting[Any]) -> SafeString:
    """The value of a policy (``remember``, ``reply``, ``mention``, ``recall``), with where it comes from below it."""
    return format_html(
        '<span class="{}">{}</span><small>{}</small>',
        "set-here" if value.origin == "here" else "",
        SHORT.get(value.value, WORDS[name][value.value]),
        origin(value),
    )


@register.filter
def origin(value: Setting[Any]) -> str:
    """Who says so: ``from the configuration (channelsDisallowed)``."""
    said = ORIGINS[value.origin]
    return f"{said} ({value.why})" if value.why else said


@register.filter
def policy_word(value: Setting[Any], name: str) -> str:
    return WORDS[name][value.value]
