"""Members sign in with Discord: who they are, what they may open, and what is kept of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.test import Client

from memory import roles
from memory.models import AuditEntry, Role, RoleGrant
from musebot_site import sessions
from musebot_site.members.sign_in import KEY, account_name
from tests.factories import GuildFactory
from tests.simulators.discord import DiscordSim
from tests.site.discord_sign_in import agree, begin, come_back, configure, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def sim() -> Iterator[DiscordSim]:
    with DiscordSim.start("--rate-profile", "off") as sim:
        yield sim


@pytest.fixture(autouse=True)
def _configured(sim: DiscordSim, settings) -> None:
    sim.post("/reset")
    configure(settings, sim)


def server(sim: DiscordSim, **values):
    """A server on Discord that the bot knows."""
    there = sim.guild("Harbour", **values)
    GuildFactory(discord_id=int(there["id"]), name="Harbour")
    return there


def moderator(sim: DiscordSim, permissions: list[str]) -> tuple[str, int]:
    ada = sim.user("ada")
    there = server(sim, members=[ada])
    role = sim.post(f"/guilds/{there['id']}/roles", name="staff", permissions=permissions)
    sim.call("PATCH", f"/guilds/{there['id']}/members/{ada}", {"roles": [role["id"]]})
    return ada, int(there["id"])


def test_a_member_gets_their_own_page_and_nothing_else(sim):
    ada = sim.user("ada")
    server(sim, members=[ada])
    client = Client()
    assert sign_in(client, ada)["Location"] == "/me/"
    page = client.get("/me/")
    assert page.status_code == 200 and "no-store" in page["Cache-Control"] and b"Ada" in page.content
    assert client.get("/memories/")["Location"].startswith("/sign-in/")
    assert client.get("/").status_code == 302
    assert not User.objects.exists(), "no account is made of a member"


def test_it_asks_for_who_somebody_is_and_their_servers_with_state_and_challenge():
    client = Client()
    query = parse_qs(urlsplit(begin(client)).query)
    assert set(query["scope"][0].split()) == {"identify", "guilds"}
    assert query["code_challenge_method"] == ["S256"] and len(query["state"][0]) >= 16
    assert query["redirect_uri"] == ["http://testserver/sign-in/discord/callback/"]


def test_behind_a_proxy_that_ends_tls_discord_leads_back_over_it(settings):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    response = Client().post(
        "/sign-in/discord/", headers={"X-Forwarded-Proto": "https", "Host": "testserver"}
    )
    query = parse_qs(urlsplit(response["Location"]).query)
    assert query["redirect_uri"] == ["https://testserver/sign-in/discord/callback/"]


def test_neither_a_get_nor_a_form_of_another_page_begins_it():
    assert Client().get("/sign-in/discord/").status_code == 200
    assert Client(enforce_csrf_checks=True).post("/sign-in/discord/").status_code == 403


def test_more_cannot_be_asked_for_through_the_address():
    response = Client().post("/sign-in/discord/?scope=email,guilds.join&auth_params=prompt%3Dconsent")
    query = parse_qs(urlsplit(response["Location"]).query)
    assert set(query["scope"][0].split()) == {"identify", "guilds"} and query["prompt"] == ["none"]


def test_an_answer_to_somebody_elses_request_is_refused(sim):
    back = agree(begin(Client()), sim.user("mallory"))
    victim = Client()
    assert come_back(victim, back)["Location"] == "/sign-in/discord/"
    assert victim.get("/me/").status_code == 302


def test_an_answer_works_once(sim):
    client = Client()
    back = agree(begin(client), sim.user("ada"))
    assert come_back(client, back)["Location"] == "/me/"
    client.post("/me/sign-out/")
    assert come_back(client, back)["Location"] == "/sign-in/discord/"
    assert client.get("/me/").status_code == 302


def test_a_code_is_worth_nothing_without_the_verifier(sim):
    thief = Client()
    stolen = parse_qs(urlsplit(agree(begin(Client()), sim.user("ada"))).query)["code"][0]
    state = parse_qs(urlsplit(begin(thief)).query)["state"][0]
    response = thief.get("/sign-in/discord/callback/", {"code": stolen, "state": state})
    assert response["Location"] == "/sign-in/discord/" and thief.get("/me/").status_code == 302


def test_who_refuses_is_told_so():
    client = Client()
    assert sign_in(client, None)["Location"] == "/sign-in/discord/"
    assert b"You did not allow it on Discord" in client.get("/sign-in/discord/").content


@pytest.mark.parametrize("path", ["POST /oauth2/token", "GET /users/@me", "GET /users/@me/guilds"])
def test_where_discord_does_not_answer_nobody_is_let_in(sim, path):
    ada = sim.user("ada")
    sim.fault(path, action="status", status=500)
    client = Client()
    assert sign_in(client, ada)["Location"] == "/sign-in/discord/"
    assert client.get("/me/").status_code == 302
    assert b"Please try again" in client.get("/sign-in/discord/").content


def test_without_an_application_it_is_not_offered(settings, sim):
    configure(settings, sim, client_secret=None)
    assert Client().get("/sign-in/discord/").status_code == 404
    assert Client().post("/sign-in/discord/").status_code == 404
    assert Client().get("/sign-in/discord/callback/?code=1&state=1").status_code == 404
    assert b"Discord" not in Client().get("/sign-in/").content


def test_only_the_page_with_the_button_lets_a_form_lead_to_discord(sim, staff):
    origin = sim.info["base"]
    for path in ("/sign-in/", "/sign-in/discord/"):
        assert f"form-action 'self' {origin};" in Client().get(path)["Content-Security-Policy"]
    assert "form-action 'self';" in staff.get("/")["Content-Security-Policy"]


@pytest.mark.parametrize("target", ["/me/facts/", "/sources/4/?chunk=3"])
def test_it_leads_to_where_one_wanted_to_go(sim, target):
    assert sign_in(Client(), sim.user("ada"), target=target)["Location"] == target


@pytest.mark.parametrize(
    "target", ["https://evil.example/me/", "//evil.example/me/", "/memories/", "/api/v1/docs"]
)
def test_it_leads_a_member_nowhere_else(sim, target):
    assert sign_in(Client(), sim.user("ada"), target=target)["Location"] == "/me/"


@pytest.mark.parametrize("permission", ["ADMINISTRATOR", "MANAGE_GUILD"])
def test_who_may_change_a_server_moderates_it_and_no_other(sim, permission):
    ada, guild = moderator(sim, [permission])
    other = server(sim, members=[ada])
    client = Client()
    assert sign_in(client, ada)["Location"] == "/"
    assert client.get("/memories/").status_code == 200
    assert client.get("/members/").status_code == 403 and client.get("/servers/").status_code == 403
    grants = RoleGrant.objects.values_list("server", "role", "origin")
    assert list(grants) == [(guild, Role.MODERATOR, "discord")] and int(other["id"]) != guild
    assert client.get("/me/").status_code == 200, "and they have a page of their own like everybody"


def test_the_owner_of_a_server_moderates_it(sim):
    ada = sim.user("ada")
    server(sim, owner_id=ada, members=[ada])
    assert sign_in(Client(), ada)["Location"] == "/"


@pytest.mark.parametrize("permissions", [["MANAGE_MESSAGES"], ["MANAGE_THREADS", "MANAGE_CHANNELS"], []])
def test_other_permissions_do_not_make_a_moderator(sim, permissions):
    ada, _ = moderator(sim, permissions)
    assert sign_in(Client(), ada)["Location"] == "/me/"
    assert not RoleGrant.objects.exists()


def test_a_server_without_the_bot_makes_nobody_a_moderator(sim):
    ada = sim.user("ada")
    sim.guild("Elsewhere", owner_id=ada, members=[ada])
    left = sim.guild("Left", owner_id=ada, members=[ada])
    GuildFactory(discord_id=int(left["id"]), left_at="2026-01-01T00:00:00Z")
    assert sign_in(Client(), ada)["Location"] == "/me/"


def test_who_is_no_moderator_any_more_loses_the_dashboard_at_the_next_sign_in(sim):
    ada, guild = moderator(sim, ["MANAGE_GUILD"])
    first, second = Client(), Client()
    sign_in(first, ada)
    sim.call("PATCH", f"/guilds/{guild}/members/{ada}", {"roles": []})
    assert sign_in(second, ada)["Location"] == "/me/"
    assert not RoleGrant.objects.exists()
    assert first.get("/memories/").status_code == 403, "in every browser"


def test_a_sign_in_with_discord_lasts_a_day(sim, monkeypatch):
    ada, _ = moderator(sim, ["MANAGE_GUILD"])
    client = Client()
    sign_in(client, ada)
    now = sessions.time.time()
    monkeypatch.setattr("musebot_site.sessions.time.time", lambda: now + 11 * 3600)
    assert client.get("/memories/").status_code == 200
    monkeypatch.setattr("musebot_site.sessions.time.time", lambda: now + 22 * 3600)
    assert client.get("/memories/").status_code == 200
    monkeypatch.setattr("musebot_site.sessions.time.time", lambda: now + 24 * 3600 + 1)
    assert client.get("/memories/").status_code == 302 and client.get("/me/").status_code == 302


def test_a_role_given_by_hand_opens_the_dashboard_to_a_member_of_discord(sim):
    ada, _ = moderator(sim, ["MANAGE_GUILD"])
    sign_in(Client(), ada)
    account = User.objects.get(username=account_name(int(ada)))
    roles.grant(user_id=account.pk, role=Role.PRIVACY, guild=None, by="command")
    guild = RoleGrant.objects.get(origin="discord").server
    sim.call("PATCH", f"/guilds/{guild}/members/{ada}", {"roles": []})
    client = Client()
    assert sign_in(client, ada)["Location"] == "/"
    assert client.get("/members/").status_code == 200 and client.get("/memories/").status_code == 403


def test_an_account_that_was_shut_out_stays_out(sim):
    ada, _ = moderator(sim, ["ADMINISTRATOR"])
    sign_in(Client(), ada)
    User.objects.update(is_active=False)
    assert sign_in(Client(), ada)["Location"] == "/me/"


def test_its_account_has_no_password_to_guess(sim):
    ada, _ = moderator(sim, ["ADMINISTRATOR"])
    sign_in(Client(), ada)
    account = User.objects.get()
    assert not account.has_usable_password() and ada not in account.username and not account.first_name
    for password in ("", "!", account.password):
        form = {"username": account.username, "password": password}
        assert Client().post("/sign-in/", form).status_code == 403
    client = Client()
    sign_in(client, ada)
    assert client.get("/account/")["Location"].startswith("/sign-in/"), "there is nothing to change"


def test_where_a_second_step_is_required_discord_has_to_ask_for_one(sim, settings):
    settings.REQUIRE_TOTP = True
    ada, _ = moderator(sim, ["ADMINISTRATOR"])
    client = Client()
    assert sign_in(client, ada)["Location"] == "/me/"
    assert b"two-factor authentication on Discord" in client.get("/me/").content
    sim.call("PATCH", f"/users/{ada}", {"mfa_enabled": True})
    assert sign_in(Client(), ada)["Location"] == "/"


def test_who_is_signed_in_with_a_password_keeps_their_role_and_sees_their_own_page_too(sim, staff, owner):
    ada = sim.user("ada")
    assert sign_in(staff, ada, target="/me/")["Location"] == "/me/"
    assert staff.get("/me/").status_code == 200 and staff.get("/members/").status_code == 200
    assert User.objects.get() == owner


def test_signing_in_begins_a_new_session(sim):
    client = Client()
    client.get("/sign-in/")
    address = begin(client)
    before = client.cookies["sessionid"].value
    come_back(client, agree(address, sim.user("ada")))
    assert client.cookies["sessionid"].value != before
    assert not Session.objects.filter(session_key=before).exists()


def test_signing_out_ends_it(sim):
    client = Client()
    sign_in(client, sim.user("ada"))
    assert client.get("/me/sign-out/").status_code == 405
    client.post("/me/sign-out/")
    assert client.get("/me/").status_code == 302 and not Session.objects.exists()


def test_the_sign_in_is_in_the_audit_without_a_name(sim):
    ada = sim.user("ada")
    sign_in(Client(), ada)
    entry = AuditEntry.objects.get()
    assert entry.action == "member.signed_in" and ada not in entry.actor and entry.actor.startswith("member:")


def test_neither_tokens_nor_the_person_stand_in_the_database(sim):
    ada = sim.user("ada")
    client = Client()
    sign_in(client, ada)
    assert client.session[KEY]["user_id"] == ada
    rows = [str(row) for table in tables() for row in read(f'SELECT * FROM "{table}"')]
    assert rows and not any(ada in row or "ada" in row.lower().split("'") for row in rows)
    assert not any("access_token" in row or "refresh" in row for row in rows)


def tables() -> list[str]:
    if connection.vendor != "sqlite":
        return connection.introspection.table_names()
    names = read("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
    return [name for (name,) in names]


def read(sql: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        try:
            cursor.execute(sql)
        except sqlite3.Error:
            return []
        return cursor.fetchall()


def test_half_an_application_is_an_error_of_the_check(settings, sim, capsys):
    from django.core.management.base import SystemCheckError

    configure(settings, sim, client_secret=None)
    with pytest.raises(SystemCheckError, match="DISCORD_CLIENT_SECRET is missing"):
        call_command("check")
