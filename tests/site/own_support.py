"""Somebody who signed in with Discord, without the way through it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from django.test import Client

from memory.types import Person
from musebot_site import sessions


def signed_in(person: Person, *, servers: Iterable[int] = (), **options: Any) -> Client:
    """A client with the session that a sign-in makes; ``servers`` are those that Discord named."""
    client = Client(**options)
    session = client.session
    sessions.begin(session, by=sessions.DISCORD)
    session["discord"] = {
        "user_id": str(person.id),
        "username": person.username,
        "display_name": person.display_name,
        "servers": [str(key) for key in servers],
        "at": time.time(),
    }
    session.save()
    client.cookies["sessionid"] = session.session_key
    return client
