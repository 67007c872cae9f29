"""System checks of the site: what is set up halfway, and what to do before strangers can reach it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from memory.checks import OURS
from memory.conf import get_config


@register(OURS, Tags.security)
def check_discord_sign_in(**kwargs: Any) -> list[CheckMessage]:
    """Members' sign-in needs both halves of what Discord gives an application."""
    discord = get_config().discord
    if bool(discord.client_id) == bool(discord.client_secret):
        return []
    missing = "DISCORD_CLIENT_SECRET" if discord.client_id else "DISCORD_CLIENT_ID"
    return [
        Error(
            f"Members' sign-in with Discord is set up halfway: {missing} is missing.",
            hint="Copy both from OAuth2 in Discord's developer portal, or set neither.",
            id="musebot.E001",
        )
    ]


@register(Tags.security, deploy=True)
def check_https(**kwargs: Any) -> list[CheckMessage]:
    """One warning where Django would give one for each setting that hangs on it."""
    if settings.SESSION_COOKIE_SECURE and settings.SECURE_SSL_REDIRECT:
        return []
    return [
        Warning(
            "DJANGO_HTTPS is not set: cookies and passwords go over the wire as they are.",
            hint="That is fine on this machine alone. Where others reach it, let a proxy end TLS and set DJANGO_HTTPS=1.",
            id="musebot.W001",
        )
    ]
