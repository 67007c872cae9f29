"""The first way in: a link that works once, while there is no account yet. Nothing is baked in."""

from __future__ import annotations

import hmac
import secrets

from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction

from memory.errors import NotFound
from memory.models import InstallationState
from memory.models.locks import hold

STATE = "first_sign_in"
SALT = "musebot.first_sign_in"
PATH = "welcome/"
"""Where the link leads; written here, so that who prints it does not load every page first."""


def link(base_url: str) -> str | None:
    """The address at which the owner chooses name and password; None once there is an account."""
    if User.objects.exists():
        return None
    with transaction.atomic():
        state, _ = InstallationState.objects.get_or_create(
            name=STATE, defaults={"value": {"nonce": secrets.token_urlsafe(24)}}
        )
    token = signing.dumps(state.value["nonce"], salt=SALT)
    return f"{base_url.rstrip('/')}/{PATH}{token}/"


def is_valid(token: str) -> bool:
    """Whether the link still works."""
    if User.objects.exists():
        return False
    state = InstallationState.objects.filter(name=STATE).first()
    try:
        nonce = signing.loads(token, salt=SALT)
    except signing.BadSignature:
        return False
    return bool(state and hmac.compare_digest(str(nonce), str(state.value.get("nonce", ""))))


def create_owner(*, token: str, username: str, password: str) -> User:
    """Makes the first account and uses the link up. Raises ``NotFound`` if somebody was faster."""
    with transaction.atomic():
        hold("first account")
        if not is_valid(token):
            raise NotFound("This link was used already. Sign in with the account that was made with it.")
        owner = User.objects.create_superuser(username=username, password=password)
        InstallationState.objects.filter(name=STATE).delete()
    return owner
