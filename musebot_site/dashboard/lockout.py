"""Repeated failures to sign in shut the door for a while: per account and address, and per address alone."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from memory.models import InstallationState

FAILURES = 5
FAILURES_PER_ADDRESS = 30
WINDOW = timedelta(minutes=15)
PREFIX = "sign_in:"


def is_locked(*, username: str, address: str) -> bool:
    """Whether sign-in is refused now, right password or not."""
    for name, limit in _names(username, address):
        row = InstallationState.objects.filter(name=name, at__gte=timezone.now() - WINDOW).first()
        if row and row.value.get("failures", 0) >= limit:
            return True
    return False


def failed(*, username: str, address: str) -> None:
    """Notes a failure. It counts until the account at this address was left alone for the window."""
    since = timezone.now() - WINDOW
    with transaction.atomic():
        InstallationState.objects.filter(name__startswith=PREFIX, at__lt=since).delete()
        for name, _ in _names(username, address):
            row, _new = InstallationState.objects.get_or_create(
                name=name, defaults={"value": {"failures": 0}}
            )
            row.value = {"failures": row.value.get("failures", 0) + 1}
            row.save()


def succeeded(*, username: str, address: str) -> None:
    """Forgets the failures of this account at this address."""
    InstallationState.objects.filter(name=_names(username, address)[0][0]).delete()


def _names(username: str, address: str) -> list[tuple[str, int]]:
    account = hashlib.sha256(f"{username.casefold()}|{address}".encode()).hexdigest()[:40]
    place = hashlib.sha256(address.encode()).hexdigest()[:40]
    return [(PREFIX + account, FAILURES), (f"{PREFIX}at:{place}", FAILURES_PER_ADDRESS)]
