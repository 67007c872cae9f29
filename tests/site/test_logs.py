"""What the log says of a request that failed: the type and the place, never what was sent."""

from __future__ import annotations

import json
import logging
import sys

import pytest
from django.contrib.auth.models import User
from django.test import Client

from musebot_site.logs import JsonLines, TypeAndPlace

pytestmark = pytest.mark.django_db

SAID = "Ada likes figs"


def test_a_page_that_fails_leaves_type_and_place_in_the_log_and_not_what_the_error_says(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise ValueError(SAID)

    monkeypatch.setattr("memory.chat.why.explain", fails)
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root", password="x"))
    assert client.get("/replies/00000000-0000-0000-0000-000000000001/").status_code == 500
    assert "ValueError" in caplog.text and "test_logs.py" in caplog.text
    assert "figs" not in caplog.text


def record_of_a_failure() -> logging.LogRecord:
    try:
        raise KeyError(SAID)
    except KeyError:
        return logging.LogRecord("memory", logging.WARNING, __file__, 1, "%d rows", (3,), sys.exc_info())


def test_a_line_of_json_names_the_type_and_the_place():
    line = json.loads(JsonLines().format(record_of_a_failure()))
    assert (line["level"], line["logger"], line["message"]) == ("WARNING", "memory", "3 rows")
    assert line["error"] == "KeyError" and "test_logs.py:" in line["at"]
    assert "figs" not in json.dumps(line)


def test_a_filtered_record_keeps_its_type_in_json():
    record = record_of_a_failure()
    for _ in ("one handler", "another"):
        TypeAndPlace().filter(record)
    assert json.loads(JsonLines().format(record))["error"] == "KeyError"
