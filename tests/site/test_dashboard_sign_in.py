"""Signing in, being shut out after failures, and the first account."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from memory.models import InstallationState
from musebot_site.dashboard import first_sign_in, lockout
from musebot_site.dashboard.forms import SIGN_IN_ERROR
from tests.site.conftest import PASSWORD

pytestmark = pytest.mark.django_db


def sign_in(client, name="owner", password=PASSWORD, **extra):
    return client.post("/sign-in/", {"username": name, "password": password, **extra})


def test_the_right_password_leads_to_where_one_wanted_to_go(owner):
    client = Client()
    assert sign_in(client, next="/members/")["Location"] == "/members/"
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_it_never_leads_elsewhere(owner, target):
    assert sign_in(Client(), next=target)["Location"] == "/"


def test_every_failure_has_the_same_text(owner):
    User.objects.create_user("guest", password=PASSWORD)
    for name, password in (("owner", "wrong"), ("nobody", "wrong"), ("guest", PASSWORD), ("", "")):
        response = sign_in(Client(), name, password)
        assert response.status_code == 403
        assert SIGN_IN_ERROR.encode() in response.content


def test_after_repeated_failures_even_the_right_password_is_refused(owner):
    client = Client()
    for _ in range(lockout.FAILURES):
        sign_in(client, password="wrong")
    response = sign_in(client)
    assert response.status_code == 403 and SIGN_IN_ERROR.encode() in response.content
    InstallationState.objects.filter(name__startswith=lockout.PREFIX).update(
        at=timezone.now() - lockout.WINDOW - timedelta(seconds=1)
    )
    assert sign_in(client).status_code == 302


def test_trying_many_names_from_one_address_is_shut_out_too(owner):
    client = Client()
    for number in range(lockout.FAILURES_PER_ADDRESS):
        sign_in(client, name=f"guess{number}", password="wrong")
    assert sign_in(client).status_code == 403
    assert sign_in(Client(REMOTE_ADDR="10.0.0.9")).status_code == 302


def test_a_success_forgets_the_failures(owner):
    client = Client()
    for _ in range(lockout.FAILURES - 1):
        sign_in(client, password="wrong")
    assert sign_in(client).status_code == 302
    client.post("/sign-out/")
    sign_in(client, password="wrong")
    assert sign_in(client).status_code == 302


def test_signing_out_is_a_post(staff):
    assert staff.get("/sign-out/").status_code == 405
    assert staff.post("/sign-out/").status_code == 302
    assert staff.get("/").status_code == 302


def test_the_first_sign_in_link_works_once():
    link = first_sign_in.link("http://localhost:8000/")
    assert link is not None and first_sign_in.link("http://localhost:8000") == link
    path = link.removeprefix("http://localhost:8000")
    client = Client()
    assert client.get(path).status_code == 200
    form = {"username": "ada", "password": PASSWORD, "again": PASSWORD}
    assert client.post(path, form)["Location"] == "/"
    assert client.get("/").status_code == 200
    assert User.objects.get().is_superuser
    assert Client().get(path).status_code == 410
    assert Client().post(path, {**form, "username": "eve"}).status_code == 410
    assert first_sign_in.link("http://localhost:8000") is None
    assert not InstallationState.objects.filter(name=first_sign_in.STATE).exists()


def test_a_made_up_link_is_refused():
    first_sign_in.link("http://localhost")
    assert Client().get("/welcome/abc:def/").status_code == 410


@pytest.mark.parametrize(
    "form",
    [
        {"username": "ada", "password": "short", "again": "short"},
        {"username": "ada", "password": PASSWORD, "again": "another-password"},
        {"username": "", "password": PASSWORD, "again": PASSWORD},
        {"username": "a b<c", "password": PASSWORD, "again": PASSWORD},
    ],
)
def test_a_bad_choice_is_said_and_nothing_is_made(form):
    path = first_sign_in.link("http://h").removeprefix("http://h")
    response = Client().post(path, form)
    assert response.status_code == 200 and b'class="error"' in response.content
    assert not User.objects.exists()


def test_the_theme_is_kept_in_a_cookie():
    client = Client()
    response = client.post("/theme/", {"theme": "dark", "next": "/sign-in/"})
    assert response["Location"] == "/sign-in/"
    assert b'data-theme="dark"' in client.get("/sign-in/").content
    client.post("/theme/", {"theme": "<script>"})
    assert b'data-theme="dark"' in client.get("/sign-in/").content
