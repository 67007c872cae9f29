"""Repeated failures to sign in shut the door for a while: per account and address, per account, and per address.

What counts is kept as hashes: neither names nor addresses of those who failed stand in the database.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from memory.models import InstallationState

FAILURES = 5
FAILURES_PER_ACCOUNT = 50
"""From everywhere together: high, since whoever fails on purpose shuts the owner of the name out as well."""
FAILURES_PER_ADDRESS = 30
CODES = 5
"""Wrong codes of the second step, from everywhere together: only who has the password comes that far."""
WINDOW = timedelta(minutes=15)
PREFIX = "sign_in:"


def is_locked(*, username: str, address: str) -> bool:
    """Whether sign-in is refused now, right password or not."""
    return _any_full(_names(username, address))


def failed(*, username: str, address: str) -> None:
    """Notes a failure. It counts until the account at this address was left alone for the window."""
    _add(_names(username, address))


def succeeded(*, username: str, address: str) -> None:
    """Forgets the failures of this account at this address."""
    InstallationState.objects.filter(name=_names(username, address)[0][0]).delete()


def code_is_locked(*, account_id: int, address: str) -> bool:
    """The same for codes of the second step, and for whoever has to type a password again."""
    return _any_full(_code_names(account_id, address))


def code_failed(*, account_id: int, address: str) -> None:
    _add(_code_names(account_id, address))


def code_succeeded(*, account_id: int) -> None:
    InstallationState.objects.filter(name=_code_names(account_id, "")[0][0]).delete()


def _any_full(names: list[tuple[str, int]]) -> bool:
    limits = dict(names)
    rows = InstallationState.objects.filter(name__in=limits, at__gte=timezone.now() - WINDOW)
    return any(row.value.get("failures", 0) >= limits[row.name] for row in rows)


def _add(names: list[tuple[str, int]]) -> None:
    since = timezone.now() - WINDOW
    with transaction.atomic():
        InstallationState.objects.filter(name__startswith=PREFIX, at__lt=since).delete()
        for name, _ in names:
            InstallationState.objects.get_or_create(name=name, defaults={"value": {"failures": 0}})
            row = InstallationState.objects.select_for_update().get(name=name)
            row.value = {"failures": row.value.get("failures", 0) + 1}
            row.save()


def _names(username: str, address: str) -> list[tuple[str, int]]:
    name = username.casefold()
    return [
        (PREFIX + _hash(f"{name}|{address}"), FAILURES),
        (f"{PREFIX}of:{_hash(name)}", FAILURES_PER_ACCOUNT),
        (f"{PREFIX}at:{_hash(address)}", FAILURES_PER_ADDRESS),
    ]


def _code_names(account_id: int, address: str) -> list[tuple[str, int]]:
    return [
        (f"{PREFIX}code:{account_id}", CODES),
        (f"{PREFIX}at:{_hash(address)}", FAILURES_PER_ADDRESS),
    ]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:40]
