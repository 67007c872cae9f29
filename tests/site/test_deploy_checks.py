"""Before strangers can reach it: what the checks say, what cookies and headers are like, and how long sessions last."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.contrib.sessions.models import Session
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory

from musebot_site import middleware, sessions
from musebot_site.middleware import PageCompressionMiddleware

pytestmark = pytest.mark.django_db

PRINT = "from django.conf import settings as s; print({})"


def manage(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process of its own: settings are read once."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "MUSEBOT_"))
    }
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        env={**clean, "MUSEBOT_HOME": str(home), "MUSEBOT_CONFIG": "", **environment},
        cwd=configured.BASE_DIR,
        capture_output=True,
        text=True,
    )


def setting(home: Path, expression: str, **environment: str) -> str:
    done = manage(home, "shell", "--no-imports", "-c", PRINT.format(expression), **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_behind_a_proxy_that_ends_tls_the_check_finds_nothing(tmp_path):
    done = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", DJANGO_HTTPS="1")
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_without_tls_it_says_the_one_thing_to_do(tmp_path):
    done = manage(tmp_path, "check", "--deploy")
    assert done.returncode == 0
    assert done.stderr.count("WARNING") <= 1 and "set DJANGO_HTTPS=1" in done.stderr
    assert "System check identified 1 issue" in done.stderr


def test_cookies_of_https_cannot_be_set_by_other_hosts(tmp_path):
    names = "s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE"
    assert setting(tmp_path, names, DJANGO_HTTPS="1") == "__Host-sessionid __Host-csrftoken True True"
    assert setting(tmp_path, names) == "sessionid csrftoken False False"


def test_passwords_are_hashed_with_argon2(tmp_path):
    assert setting(tmp_path, "s.PASSWORD_HASHERS[0]").endswith("Argon2PasswordHasher")


def test_the_key_of_what_is_encrypted_is_a_file_for_its_owner_alone(tmp_path):
    code = "from musebot_site.encryption import encrypt; encrypt('x', purpose='y')"
    assert manage(tmp_path, "shell", "--no-imports", "-c", code).returncode == 0
    path = tmp_path / "secrets" / "encryption_key"
    assert path.stat().st_mode & 0o077 == 0 and len(path.read_text()) >= 48


def test_headers_of_every_response(staff):
    for response in (
        staff.get("/"),
        Client().get("/sign-in/"),
        Client().get("/nothing/"),
        Client().get("/healthz"),
    ):
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["Referrer-Policy"] == "same-origin"
        assert response["Cross-Origin-Opener-Policy"] == "same-origin"
        assert response["Cross-Origin-Resource-Policy"] == "same-origin"
        assert response["X-Frame-Options"] == "DENY"
        assert "camera=()" in response["Permissions-Policy"]
        assert "frame-ancestors 'none'" in response["Content-Security-Policy"]


def test_the_cookie_of_the_session(owner):
    client = Client()
    client.post("/sign-in/", {"username": "owner", "password": "a-long-enough-password"})
    cookie = client.cookies["sessionid"]
    assert (
        cookie["httponly"] and cookie["samesite"] == "Lax" and cookie["path"] == "/" and not cookie["domain"]
    )


def test_signing_in_begins_a_new_session(owner):
    client = Client()
    client.get("/sign-in/")
    session = client.session
    session["guild"] = None
    session.save()
    client.cookies["sessionid"] = session.session_key
    client.post("/sign-in/", {"username": "owner", "password": "a-long-enough-password"})
    assert client.cookies["sessionid"].value != session.session_key
    assert not Session.objects.filter(session_key=session.session_key).exists()


def at(monkeypatch, hours: float) -> None:
    now = time.time() if not hasattr(at, "now") else at.now  # type: ignore[attr-defined]
    at.now = now  # type: ignore[attr-defined]
    monkeypatch.setattr("musebot_site.sessions.time.time", lambda: now + hours * 3600)


def test_a_session_that_nobody_used_for_half_a_day_has_ended(staff, monkeypatch):
    at(monkeypatch, 11.9)
    assert staff.get("/").status_code == 200
    at(monkeypatch, 23.8)
    assert staff.get("/").status_code == 200, "it was used in between"
    at(monkeypatch, 35.9)
    assert staff.get("/").status_code == 302
    assert not Session.objects.exists(), "and nothing of it is left"


def test_a_week_is_the_longest(staff, monkeypatch):
    for hours in range(10, 168, 10):
        at(monkeypatch, hours)
        assert staff.get("/").status_code == 200
    at(monkeypatch, 168.1)
    assert staff.get("/").status_code == 302
    assert sessions.LONGEST.total_seconds() == configured.SESSION_COOKIE_AGE


def test_what_ended_sessions_left_behind_goes_with_the_next_sign_in(owner):
    old = Client()
    old.force_login(owner)
    Session.objects.update(expire_date="2026-01-01T00:00:00Z")
    Client().force_login(owner)
    assert Session.objects.count() == 1
    assert Session.objects.get().session_key != old.cookies["sessionid"].value


def test_a_session_that_does_not_say_since_when_has_ended(staff):
    session = staff.session
    del session[sessions.BEGAN]
    session.save()
    assert staff.get("/").status_code == 302


def test_sessions_are_stored_encrypted(staff):
    session = staff.session
    session["note"] = "a secret of theirs"
    session.save()
    stored = Session.objects.get().session_data
    assert Client().session.decode(stored)["note"] == "a secret of theirs"
    assert "gAAAA" in stored or "secret" not in stored
    assert Client().session.decode(stored[:-4] + "AAAA") == {}


def test_a_session_of_another_key_is_nobodys(staff, settings, tmp_path):
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"home": tmp_path})
    assert staff.get("/").status_code == 302


def test_pages_are_compressed_and_streams_are_not(staff):
    accepts = {"Accept-Encoding": "gzip"}
    page = staff.get("/", headers=accepts)
    assert page["Content-Encoding"] == "gzip" and b"Overview" in gzip.decompress(page.content)
    request = RequestFactory().get("/", headers=accepts)
    for response in (
        StreamingHttpResponse(["x" * 1000], content_type="text/html"),
        HttpResponse("x" * 1000, content_type="application/json"),
    ):
        handled = PageCompressionMiddleware(lambda _, response=response: response)(request)
        assert not handled.has_header("Content-Encoding")


def test_the_same_page_has_a_different_length_each_time(staff):
    """What an attacker could learn from the length of a compressed page drowns in the noise, and tokens differ each time."""
    sizes = {
        len(staff.get("/account/password/", headers={"Accept-Encoding": "gzip"}).content) for _ in range(3)
    }
    pages = {len(staff.get("/", headers={"Accept-Encoding": "gzip"}).content) for _ in range(12)}
    assert len(pages) > 1 and sizes
    assert middleware.PageCompressionMiddleware.max_random_bytes >= 100
