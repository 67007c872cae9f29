"""What the log says of a request that failed: the type and the place, never what was sent."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

pytestmark = pytest.mark.django_db

SAID = "Ada likes figs"


def test_a_page_that_fails_leaves_type_and_place_in_the_log_and_not_what_the_error_says(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise ValueError(SAID)

    monkeypatch.setattr("memory.selectors.reply", fails)
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root", password="x"))
    assert client.get("/replies/00000000-0000-0000-0000-000000000001/").status_code == 500
    assert "ValueError" in caplog.text and "test_logs.py" in caplog.text
    assert "figs" not in caplog.text
