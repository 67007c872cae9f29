"""The second step of signing in: set up, asked for, not to be replayed or guessed, and the ways back in."""

from __future__ import annotations

import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from memory.models import AuditEntry
from musebot_site.dashboard import lockout, second_step
from musebot_site.dashboard.views.access import CODE_ERROR
from tests.site.conftest import PASSWORD

pytestmark = pytest.mark.django_db


def code_for(secret: str, *, later: int = 0) -> str:
    """What an app shows now, or so many half minutes later."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + later))


def with_password(client: Client, name: str = "owner", **extra: str):
    return client.post("/sign-in/", {"username": name, "password": PASSWORD, **extra})


@pytest.fixture
def secret(owner: User) -> str:
    """The owner's, set up a while ago: no code was used lately."""
    secret = second_step.new_secret()
    second_step.enrol(user=owner, secret=secret, code=code_for(secret))
    for row in Authenticator.objects.filter(type="totp"):
        row.data["last_counter"] = 0
        row.save()
    return secret


def test_it_is_set_up_with_a_picture_a_code_and_recovery_codes(staff, owner):
    page = staff.get("/account/second-step/").content.decode()
    assert (
        '<svg class="qr"' in page
        and "style=" not in page
        and "http://" not in page.replace("http://testserver", "")
    )
    shown = re.search(r"data-copy>([A-Z2-7 ]+)</code>", page)
    assert shown is not None
    secret = shown[1].replace(" ", "")
    assert f"secret={secret}" in second_step.address(owner, secret)
    assert staff.post("/account/second-step/", {"code": "000000"}).status_code == 422
    assert not second_step.is_on(owner)
    response = staff.post("/account/second-step/", {"code": code_for(secret)})
    codes = re.findall(r"<li><code>(\d{4} \d{4})</code>", response.content.decode())
    assert (
        second_step.is_on(owner)
        and len(codes) == len(set(codes)) == second_step.recovery_codes_left(owner) == 10
    )
    assert second_step.check(user=owner, code=codes[3]) and not second_step.check(user=owner, code=codes[3])


def test_a_page_with_a_secret_is_neither_kept_nor_compressed(staff):
    response = staff.get("/account/second-step/", headers={"Accept-Encoding": "gzip"})
    assert "no-store" in response["Cache-Control"] and not response.has_header("Content-Encoding")


def test_the_password_alone_opens_nothing(owner, secret):
    client = Client()
    assert with_password(client, next="/members/")["Location"] == "/sign-in/code/"
    for path in ("/", "/members/", "/account/", "/account/second-step/"):
        assert client.get(path).status_code == 302
    response = client.post("/sign-in/code/", {"code": code_for(secret)})
    assert response["Location"] == "/members/"
    assert client.get("/members/").status_code == 200


@pytest.mark.parametrize("later", [-1, 0, 1])
def test_a_clock_may_be_half_a_minute_off(owner, secret, later):
    assert second_step.check(user=owner, code=code_for(secret, later=later))


@pytest.mark.parametrize("later", [-4, 4])
def test_but_no_more(owner, secret, later):
    assert not second_step.check(user=owner, code=code_for(secret, later=later))


def test_a_code_works_once_and_so_does_none_before_it(owner, secret):
    code, before = code_for(secret), code_for(secret, later=-1)
    assert second_step.check(user=owner, code=code)
    assert not second_step.check(user=owner, code=code)
    assert not second_step.check(user=owner, code=before)


def test_the_code_that_set_it_up_does_not_sign_in(owner):
    secret = second_step.new_secret()
    code = code_for(secret)
    second_step.enrol(user=owner, secret=secret, code=code)
    client = Client()
    with_password(client)
    assert client.post("/sign-in/code/", {"code": code}).status_code == 403


def test_spaces_in_a_code_do_not_matter(owner, secret):
    code = code_for(secret)
    assert second_step.check(user=owner, code=f" {code[:3]} {code[3:]} ")


@pytest.mark.parametrize("code", ["", "0", "abcdef", "٣٤٥٦٧٨", "1" * 100, "\x00"])
def test_anything_else_is_refused_with_the_one_text(owner, secret, code):
    client = Client()
    with_password(client)
    response = client.post("/sign-in/code/", {"code": code})
    assert response.status_code == 403 and CODE_ERROR.encode() in response.content


def test_after_five_wrong_codes_even_the_right_one_is_refused_from_anywhere(owner, secret):
    for number in range(lockout.CODES):
        client = Client(REMOTE_ADDR=f"10.0.0.{number}")
        with_password(client)
        assert client.post("/sign-in/code/", {"code": "000000"}).status_code == 403
    client = Client(REMOTE_ADDR="10.0.1.1")
    with_password(client)
    response = client.post("/sign-in/code/", {"code": code_for(secret)})
    assert response.status_code == 403 and CODE_ERROR.encode() in response.content


def test_the_password_step_lapses(owner, secret, monkeypatch):
    client = Client()
    with_password(client)
    now = time.time()
    monkeypatch.setattr("musebot_site.dashboard.views.access.time.time", lambda: now + 601)
    assert client.post("/sign-in/code/", {"code": code_for(secret)})["Location"] == "/sign-in/"


def test_a_changed_password_ends_a_sign_in_that_is_half_done(owner, secret):
    client = Client()
    with_password(client)
    owner.set_password("another-long-password")
    owner.save()
    assert client.post("/sign-in/code/", {"code": code_for(secret)})["Location"] == "/sign-in/"


def test_without_a_password_there_is_no_second_step():
    assert Client().get("/sign-in/code/")["Location"] == "/sign-in/"


def test_secrets_are_stored_encrypted(owner, secret):
    stored = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in stored and "gAAAA" in stored


def test_another_key_opens_none_of_them(owner, secret, settings, tmp_path):
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"home": tmp_path})
    with pytest.raises(ValueError, match="encryption_key"):
        second_step.check(user=owner, code=code_for(secret))


def test_it_is_switched_off_with_the_password_only(staff, owner, secret):
    staff.post("/account/second-step/off/", {"password": "wrong"})
    assert second_step.is_on(owner)
    staff.post("/account/second-step/off/", {"password": PASSWORD})
    assert not second_step.is_on(owner) and not Authenticator.objects.exists()
    assert with_password(Client())["Location"] == "/"


def test_guessing_the_password_there_is_shut_out_too(staff, owner, secret):
    for _ in range(lockout.CODES):
        staff.post("/account/second-step/off/", {"password": "wrong"})
    staff.post("/account/second-step/off/", {"password": PASSWORD})
    assert second_step.is_on(owner)


def test_new_recovery_codes_end_the_old_ones(staff, owner, secret):
    old = [f"{code[:4]}{code[4:]}" for code in second_step.new_recovery_codes(owner)]
    response = staff.post("/account/second-step/codes/", {"password": PASSWORD})
    new = re.findall(r"<li><code>(\d{4} \d{4})</code>", response.content.decode())
    assert len(new) == 10
    assert not second_step.check(user=owner, code=old[0]) and second_step.check(user=owner, code=new[0])


def test_where_it_is_required_nothing_opens_before_it_is_set_up(staff, owner, settings):
    settings.REQUIRE_TOTP = True
    for path in ("/", "/memories/", "/members/"):
        assert staff.get(path)["Location"] == "/account/second-step/"
    assert staff.post("/sample/")["Location"] == "/account/second-step/"
    assert staff.get("/account/second-step/").status_code == 200
    secret = staff.session["second_step_secret"]
    staff.post("/account/second-step/", {"code": code_for(secret)})
    assert staff.get("/").status_code == 200
    staff.post("/account/second-step/off/", {"password": PASSWORD})
    assert second_step.is_on(owner), "and it stays on"


def test_who_lost_everything_is_let_in_by_whoever_runs_the_bot(owner, secret):
    with pytest.raises(CommandError, match="no account"):
        call_command("second_step_off", "nobody")
    call_command("second_step_off", "owner")
    assert with_password(Client())["Location"] == "/"
    with pytest.raises(CommandError, match="off already"):
        call_command("second_step_off", "owner")


def test_each_change_is_in_the_audit(staff, owner, secret):
    second_step.new_recovery_codes(owner)
    second_step.switch_off(owner)
    actions = list(AuditEntry.objects.order_by("number").values_list("action", flat=True))
    assert actions == ["second_step.on", "second_step.new_codes", "second_step.off"]


# -- the password


def test_a_new_password_signs_out_everywhere_else(staff, owner):
    elsewhere = Client()
    with_password(elsewhere)
    assert elsewhere.get("/").status_code == 200
    new = "a-different-long-password"
    form = {"now": PASSWORD, "password": new, "again": new}
    assert staff.post("/account/password/", form)["Location"] == "/account/"
    assert staff.get("/").status_code == 200 and elsewhere.get("/").status_code == 302
    assert Client().post("/sign-in/", {"username": "owner", "password": new})["Location"] == "/"


@pytest.mark.parametrize(
    "form",
    [
        {"now": "wrong", "password": "a-different-long-password", "again": "a-different-long-password"},
        {"now": PASSWORD, "password": "short", "again": "short"},
        {"now": PASSWORD, "password": "a-different-long-password", "again": "another"},
        {"now": PASSWORD, "password": "", "again": ""},
    ],
)
def test_a_password_is_not_changed_without_the_old_one_or_for_a_bad_one(staff, owner, form):
    response = staff.post("/account/password/", form)
    assert response.status_code == 422 and b'class="error"' in response.content
    owner.refresh_from_db()
    assert owner.check_password(PASSWORD)


def test_strangers_have_no_account_page():
    for path in ("/account/", "/account/password/", "/account/second-step/"):
        assert Client().get(path)["Location"].startswith("/sign-in/")
    for path in ("/account/second-step/off/", "/account/second-step/codes/"):
        assert Client().post(path)["Location"].startswith("/sign-in/")


def test_a_name_is_shut_out_when_it_is_tried_from_everywhere(owner):
    for number in range(lockout.FAILURES_PER_ACCOUNT):
        lockout.failed(username="Owner", address=f"10.1.{number // 250}.{number % 250}")
    assert with_password(Client(REMOTE_ADDR="10.9.9.9")).status_code == 403


def test_an_unknown_name_costs_as_much_as_a_wrong_password(owner, settings, monkeypatch):
    """Each failure hashes once: otherwise the time that it takes would tell which names exist."""
    from django.contrib.auth.hashers import PBKDF2PasswordHasher

    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    owner.set_password(PASSWORD)
    owner.save()
    hashed: list[str] = []
    encode = PBKDF2PasswordHasher.encode
    monkeypatch.setattr(
        PBKDF2PasswordHasher,
        "encode",
        lambda self, *given, **more: (hashed.append("x"), encode(self, *given, **more))[1],
    )
    counts = []
    for name in ("owner", "nobody"):
        hashed.clear()
        Client().post("/sign-in/", {"username": name, "password": "wrong"})
        counts.append(len(hashed))
    assert counts == [1, 1]
