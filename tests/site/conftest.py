"""Somebody who may see the dashboard."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from tests.document_files import documents_folder

__all__ = ["documents_folder"]

PASSWORD = "a-long-enough-password"


@pytest.fixture(autouse=True)
def _nothing_kept_from_before() -> None:
    cache.clear()


@pytest.fixture
def owner(db: None) -> User:
    return User.objects.create_superuser("owner", password=PASSWORD)


@pytest.fixture
def staff(owner: User) -> Client:
    """A client that is signed in."""
    client = Client()
    client.force_login(owner)
    return client
