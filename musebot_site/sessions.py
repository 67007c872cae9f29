"""How long somebody stays signed in: at most a week, a day with Discord, and half a day without a sign of life.

A sign-in with Discord lasts a day because Discord's permissions are read then and not again: who was made no moderator
there any more loses the dashboard within that day, and nothing of Discord's has to be kept to ask again.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

IDLE = timedelta(hours=12)
LONGEST = timedelta(days=7)
LONGEST_BY_DISCORD = timedelta(days=1)
WRITTEN_EVERY = timedelta(minutes=5)
"""How exactly a sign of life is kept: a write for each request would be wasted."""

BEGAN = "signed_in_at"
SEEN = "seen_at"
BY = "signed_in_by"
PASSWORD, DISCORD = "password", "discord"


def begin(session: SessionBase, *, by: str = PASSWORD) -> None:
    """Notes that somebody signed in just now, and removes what ended sessions left behind."""
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    session[BEGAN] = session[SEEN] = time.time()
    session[BY] = by
    session.set_expiry(int(LONGEST_BY_DISCORD.total_seconds()) if by == DISCORD else None)


def has_ended(session: SessionBase) -> bool:
    """Whether who signed in has to do it again. A session that does not say since when has ended."""
    now = time.time()
    try:
        age, idle = now - float(session[BEGAN]), now - float(session[SEEN])
    except (KeyError, TypeError, ValueError):
        return True
    longest = LONGEST_BY_DISCORD if session.get(BY) == DISCORD else LONGEST
    return not (-60 <= age < longest.total_seconds() and idle < IDLE.total_seconds())


def seen(session: SessionBase) -> None:
    """Keeps a sign of life, every few minutes."""
    if time.time() - float(session.get(SEEN, 0)) > WRITTEN_EVERY.total_seconds():
        session[SEEN] = time.time()


def _begin(sender: Any, request: HttpRequest | None, **kwargs: Any) -> None:
    if request is not None:
        begin(request.session, by=getattr(request, "signed_in_by", PASSWORD))


def connect() -> None:
    """Every way of signing in begins the time anew (called once, when the app is ready)."""
    user_logged_in.connect(_begin, dispatch_uid="musebot.sessions")
