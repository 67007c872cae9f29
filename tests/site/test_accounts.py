"""Accounts: inviting, giving roles and taking them away, shutting out; and never without an owner."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from memory import audit, roles
from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import AuditEntry, InstallationState, Role, RoleGrant
from musebot_site.dashboard import invitations
from tests.factories import GuildFactory
from tests.site.conftest import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def guild():
    return GuildFactory(name="Harbour")


@pytest.fixture
def ada(db) -> User:
    return User.objects.create_user("ada", password=PASSWORD)


def invite(staff: Client, **data: str) -> str:
    """The path of the link that the page shows."""
    page = staff.post("/accounts/invite/", {"role": "moderator", **data}).content.decode()
    found = re.search(r"http://testserver(/invitation/[^<]+)<", page)
    assert found, page
    return found[1]


def accept(path: str, name: str = "ada") -> tuple[Client, int]:
    client = Client()
    response = client.post(path, {"username": name, "password": PASSWORD, "again": PASSWORD})
    return client, response.status_code


def test_an_invitation_makes_an_account_with_its_role_and_works_once(staff, guild):
    path = invite(staff, server=str(guild.discord_id))
    assert "moderator" in Client().get(path).content.decode()
    client, status = accept(path)
    assert status == 302
    assert client.get("/memories/").context["frame"].guild.id == guild.discord_id
    assert client.get("/members/").status_code == 403
    assert Client().get(path).status_code == 410
    assert accept(path, "eve")[1] == 410 and not User.objects.filter(username="eve").exists()


def test_the_link_is_not_in_the_database(staff):
    secret = invite(staff).rstrip("/").rpartition(".")[2]
    rows = InstallationState.objects.filter(name__startswith=invitations.PREFIX)
    assert rows.count() == 1
    assert secret not in str(list(rows.values())) and secret not in str(list(AuditEntry.objects.values()))
    assert secret not in staff.get("/accounts/").content.decode()


@pytest.mark.parametrize("change", ["key", "secret", "nothing"])
def test_another_link_opens_nothing(staff, change):
    key, _, secret = invite(staff).strip("/").rpartition("/")[2].partition(".")
    token = {"key": f"{key[::-1]}.{secret}", "secret": f"{key}.{secret[::-1]}", "nothing": key}[change]
    assert Client().get(f"/invitation/{token}/").status_code == 410


def test_it_ends_after_a_week_or_when_it_is_withdrawn(staff):
    path = invite(staff)
    InstallationState.objects.filter(name__startswith=invitations.PREFIX).update(
        at=timezone.now() - timedelta(days=invitations.DAYS, seconds=1)
    )
    assert Client().get(path).status_code == 410
    path = invite(staff, role="viewer")
    (open_one,) = invitations.open_ones()
    staff.post("/accounts/withdraw/", {"invitation": open_one.id})
    assert Client().get(path).status_code == 410
    assert staff.post("/accounts/withdraw/", {"invitation": open_one.id}).status_code == 404


def test_a_name_that_is_taken_is_asked_for_again(staff, ada):
    path = invite(staff)
    assert accept(path, "ADA")[1] == 422
    assert accept(path, "eve")[1] == 302


def test_roles_for_all_servers_take_no_server(staff, guild):
    response = staff.post("/accounts/invite/", {"role": "privacy", "server": str(guild.discord_id)})
    assert response.status_code == 422 and "see all servers" in response.content.decode()
    with pytest.raises(InvalidInput):
        roles.check(role=Role.OWNER, guild=guild.discord_id)
    with pytest.raises(NotFound):
        roles.check(role=Role.MODERATOR, guild=5)


def test_giving_and_taking_roles_is_in_the_audit(staff, owner, ada, guild):
    path = f"/accounts/{ada.pk}/"
    data = {"role": "moderator", "server": str(guild.discord_id)}
    staff.post(f"{path}grant/", data)
    staff.post(f"{path}grant/", data)
    assert RoleGrant.objects.count() == 1
    staff.post(f"{path}revoke/", {"role": f"moderator-{guild.discord_id}"})
    assert not RoleGrant.objects.exists()
    entries = AuditEntry.objects.filter(object_id=str(ada.pk)).order_by("number")
    assert [(row.action, row.actor, row.guild) for row in entries] == [
        ("role.granted.moderator", audit.admin(owner.pk), guild.discord_id),
        ("role.revoked.moderator", audit.admin(owner.pk), guild.discord_id),
    ]
    assert staff.post(f"{path}revoke/", {"role": f"moderator-{guild.discord_id}"}).status_code == 404


def test_the_last_owner_stays(staff, owner, ada):
    path = f"/accounts/{owner.pk}/"
    for act, data in (("revoke", {"role": "owner-"}), ("activity", {"active": "0"})):
        assert staff.post(f"{path}{act}/", data).status_code == 409
        owner.refresh_from_db()
        assert owner.is_superuser and owner.is_active
    staff.post(f"/accounts/{ada.pk}/grant/", {"role": "owner"})
    assert staff.post(f"{path}revoke/", {"role": "owner-"}).status_code == 302
    assert staff.get("/accounts/").status_code == 403
    with pytest.raises(Conflict):
        roles.revoke(user_id=ada.pk, role=Role.OWNER, guild=None, by="command")


def test_an_owner_who_is_shut_out_does_not_count(owner, ada):
    roles.grant(user_id=ada.pk, role=Role.OWNER, guild=None, by="command")
    roles.deactivate(user_id=ada.pk, by="command")
    with pytest.raises(Conflict):
        roles.deactivate(user_id=owner.pk, by="command")


def test_who_is_shut_out_is_signed_out_and_keeps_the_roles(staff, ada):
    roles.grant(user_id=ada.pk, role=Role.VIEWER, guild=None, by="command")
    client = Client()
    client.force_login(ada)
    assert client.get("/").status_code == 200
    staff.post(f"/accounts/{ada.pk}/activity/", {"active": "0"})
    assert client.get("/").status_code == 302
    staff.post(f"/accounts/{ada.pk}/activity/", {"active": "1"})
    client.force_login(ada)
    assert client.get("/").status_code == 200


def test_what_discord_says_replaces_what_it_said_and_leaves_what_was_given_by_hand(ada, guild):
    other, third = GuildFactory(), GuildFactory()
    private = GuildFactory(kind="dm")
    roles.grant(user_id=ada.pk, role=Role.MODERATOR, guild=guild.discord_id, by="admin:1")

    def now() -> set[tuple[int, str]]:
        return set(RoleGrant.objects.values_list("server", "origin"))

    by_hand = (guild.discord_id, "hand")
    roles.set_discord_moderator(
        user_id=ada.pk, guild_ids=[guild.discord_id, other.discord_id, private.discord_id, 5]
    )
    assert now() == {by_hand, (guild.discord_id, "discord"), (other.discord_id, "discord")}
    roles.set_discord_moderator(user_id=ada.pk, guild_ids=[third.discord_id])
    assert now() == {by_hand, (third.discord_id, "discord")}
    count = AuditEntry.objects.count()
    roles.set_discord_moderator(user_id=ada.pk, guild_ids=[third.discord_id])
    assert AuditEntry.objects.count() == count, "nothing changed, so nothing is recorded"


def test_roles_from_discord_are_shown_and_not_taken_away_here(staff, ada, guild):
    roles.set_discord_moderator(user_id=ada.pk, guild_ids=[guild.discord_id])
    page = staff.get(f"/accounts/{ada.pk}/").content.decode()
    assert "from Discord" in page and "Take Moderator" not in page
    assert "Harbour" in staff.get("/accounts/").content.decode()


def test_an_account_that_there_is_not(staff):
    assert staff.get("/accounts/999999/").status_code == 404
    assert staff.post("/accounts/999999/grant/", {"role": "viewer"}).status_code == 404
