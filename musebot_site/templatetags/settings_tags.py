"""Sizes in words."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def bytes(value: float) -> str:
    """``3.4 GB``; 1 kB is 1,000 bytes."""
    size = float(value)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"
