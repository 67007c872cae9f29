"""Who may open what: every route of the dashboard, as each role, with real objects behind the ids.

``ROUTES`` is the whole truth: a route that is not in it fails, and so does one that opens to somebody else than it says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memory import roles
from memory.models import Document, DocumentVersion, Fact, MemoryBlock, Message, PersonaProposal, Reply, Role
from musebot_site.dashboard import urls
from musebot_site.dashboard.permissions import ROLES, Permission
from tests.factories import GuildFactory
from tests.site import roles_world
from tests.site.roles_world import HERE, NAME, PRIVATE, World

pytestmark = pytest.mark.django_db

OPEN = {"sign-in", "welcome", "invitation", "theme"}
EVERYBODY = "owner moderator privacy viewer"
MODERATION = "owner moderator"
PRIVACY = "owner privacy"


@dataclass(frozen=True)
class Route:
    """Which roles a route opens to, and for one about an object which of the world's ids stands in its address."""

    roles: str
    of_server: bool = False
    """About an object of one server: to a moderator of another it does not exist."""
    get: bool = True
    """Whether it is read at all."""
    key: str = "key"
    """What ``<int:key>`` is the key of."""
    post: tuple[tuple[str, str], ...] = ()
    """What is sent to it that would do something; ``{key}`` and its like are ids."""


ROUTES = {
    "overview": Route(EVERYBODY),
    "sample": Route("owner", get=False),
    "sign-out": Route(EVERYBODY, get=False),
    "memories": Route(MODERATION),
    "memory": Route(MODERATION, of_server=True),
    "memories-count": Route(MODERATION, get=False),
    "memories-erase": Route(MODERATION, get=False, post=(("key", "{key}"), ("confirmed", "1"))),
    "memories-pause": Route(MODERATION, get=False, post=(("key", "{key}"), ("paused", "1"))),
    "memories-embed": Route(MODERATION, get=False, post=(("key", "{key}"),)),
    "members": Route(PRIVACY),
    "member": Route(PRIVACY),
    "member-erase": Route(PRIVACY),
    "member-export": Route(PRIVACY, get=False),
    "member-pause": Route(PRIVACY, get=False, post=(("paused", "1"),)),
    "facts": Route(MODERATION),
    "fact": Route(MODERATION, of_server=True),
    "facts-add": Route("owner", get=False),
    "facts-edit": Route(MODERATION, get=False, post=(("key", "{fact_id}"), ("text", "Changed"))),
    "facts-renew": Route(MODERATION, get=False, post=(("key", "{fact_id}"),)),
    "facts-approve": Route(MODERATION, get=False, post=(("key", "{fact_id}"),)),
    "facts-settle": Route(MODERATION, get=False, post=(("key", "{fact_id}"), ("choice", "old"))),
    "facts-merge": Route(MODERATION, get=False, post=(("key", "{fact_id}"), ("keep", "{fact_id}"))),
    "facts-forget": Route(MODERATION, get=False, post=(("key", "{fact_id}"), ("confirmed", "1"))),
    "core-memory": Route(MODERATION),
    "persona": Route(MODERATION),
    "prompt-preview": Route(MODERATION),
    "block": Route(
        MODERATION, of_server=True, key="block", post=(("value", "Changed"), ("version", "1"), ("reason", ""))
    ),
    "block-restore": Route(
        MODERATION, of_server=True, get=False, key="block", post=(("to", "1"), ("version", "1"))
    ),
    "block-limit": Route(MODERATION, of_server=True, get=False, key="block", post=(("limit", "9"),)),
    "proposal-decide": Route(
        MODERATION, of_server=True, get=False, key="proposal", post=(("decision", "reject"),)
    ),
    "documents": Route(MODERATION),
    "documents-upload": Route(MODERATION, get=False),
    "documents-same": Route(MODERATION, get=False),
    "document": Route(MODERATION, of_server=True),
    "document-new-version": Route(MODERATION, of_server=True, get=False),
    "document-change": Route(MODERATION, of_server=True, get=False, post=(("action", "disable"),)),
    "document-delete": Route(MODERATION, of_server=True, post=(("typed", f"{HERE}.md"),)),
    "document-compare": Route(MODERATION, of_server=True),
    "evaluation": Route("owner"),
    "evaluation-run": Route("owner", get=False),
    "evaluation-add": Route("owner", get=False),
    "evaluation-remove": Route("owner", get=False),
    "servers": Route("owner"),
    "server": Route("owner"),
    "server-retention": Route("owner", get=False),
    "server-channel": Route("owner"),
    "server-channels": Route("owner", get=False),
    "settings": Route("owner"),
    "settings-health": Route("owner"),
    "settings-test": Route("owner", get=False),
    "settings-scan": Route("owner", get=False),
    "settings-retention": Route("owner"),
    "settings-embedding": Route("owner"),
    "settings-embedding-act": Route("owner", get=False),
    "settings-keys": Route("owner"),
    "settings-key-revoke": Route("owner", get=False),
    "jobs": Route("owner"),
    "job-scan": Route("owner"),
    "jobs-act": Route("owner", get=False),
    "erasures": Route(PRIVACY),
    "erasure": Route(PRIVACY),
    "erasures-add": Route(PRIVACY),
    "erasure-look": Route(PRIVACY, get=False),
    "erasure-begin": Route(PRIVACY, get=False),
    "erasure-close": Route(PRIVACY, get=False),
    "erasure-receipt": Route(PRIVACY),
    "erasure-continue": Route(PRIVACY, get=False),
    "playground": Route(MODERATION, post=(("guild", "{guild_id}"), ("question", "What?"))),
    "playground-compare": Route(
        MODERATION, post=(("guild", "{guild_id}"), ("question", "What is remembered?"))
    ),
    "playground-stream": Route(MODERATION, get=False),
    "sandbox": Route("owner", get=False),
    "replies": Route(MODERATION),
    "reply": Route(MODERATION, of_server=True),
    "reply-erase": Route(MODERATION, of_server=True, get=False),
    "audit": Route(PRIVACY),
    "audit-verify": Route(PRIVACY, get=False),
    "audit-export": Route(PRIVACY),
    "accounts": Route("owner"),
    "account-invite": Route("owner", get=False),
    "account-withdraw": Route("owner", get=False),
    "account": Route("owner"),
    "account-grant": Route("owner", get=False),
    "account-revoke": Route("owner", get=False),
    "account-activity": Route("owner", get=False),
}
PATTERNS = {pattern.name: pattern for pattern in urls.urlpatterns if pattern.name not in OPEN}
LISTS = (
    "overview",
    "memories",
    "facts",
    "core-memory",
    "prompt-preview",
    "documents",
    "playground",
    "replies",
)
"""Pages that a moderator gets without naming an object."""


@pytest.fixture
def world() -> World:
    return roles_world.build()


def address(name: str, ids: dict[str, Any]) -> str:
    key = ids[ROUTES[name].key] if "key" in PATTERNS[name].pattern.converters else None
    named = {**ids, "key": key}
    return reverse(f"dashboard:{name}", kwargs={one: named[one] for one in PATTERNS[name].pattern.converters})


def sent(name: str, ids: dict[str, Any]) -> dict[str, str]:
    return {field: value.format(**ids) for field, value in ROUTES[name].post}


def test_the_table_names_every_route_and_no_other():
    assert set(ROUTES) == set(PATTERNS)
    assert {pattern.name for pattern in urls.public} == OPEN


def test_every_route_is_guarded():
    for name, pattern in PATTERNS.items():
        gate = getattr(pattern.callback, "gate", None)
        assert gate is not None, name
        assert isinstance(gate.needs, Permission), name


def test_routes_that_show_or_change_something_of_a_person_are_in_the_audit():
    personal = {
        Permission.MEMORIES,
        Permission.MEMBERS,
        Permission.FACTS,
        Permission.CORE_MEMORY,
        Permission.REPLIES,
    }
    for name, pattern in PATTERNS.items():
        gate = pattern.callback.gate
        if gate.needs in personal and ROUTES[name].get:
            assert gate.views, name
        if not ROUTES[name].get and gate.needs is not Permission.ACCOUNTS:  # those record in memory.roles
            assert gate.changes, name


@pytest.mark.parametrize("who", ["anonymous", "nobody", "owner", "moderator", "privacy", "viewer"])
def test_each_route_opens_to_those_the_table_names_and_to_nobody_else(world, who):
    client = world.clients[who]
    for name, route in ROUTES.items():
        path, allowed = address(name, world.ids), who in route.roles.split()
        if not allowed:
            expected = 302 if who == "anonymous" else 403
            for response in (client.get(path), client.post(path, sent(name, world.ids))):
                assert response.status_code == expected, (who, name)
                assert HERE not in response.content.decode(), (who, name)
                assert who != "anonymous" or response["Location"].startswith("/sign-in/"), name
        elif route.get:
            wanted = {200}
            if name == "persona" and who == "moderator":
                path = f"{path}?server={world.guild.discord_id}"
            assert client.get(path).status_code in wanted, (who, name)
        else:
            assert client.get(path).status_code == 405, (who, name)


def test_a_moderator_sees_what_is_of_their_server(world):
    client = world.clients["moderator"]
    for name in ("memories", "facts", "core-memory", "documents", "replies"):
        body = client.get(address(name, world.ids)).content.decode()
        assert HERE in body, name
        assert PRIVATE not in body, name


@pytest.mark.parametrize("who", ["moderator elsewhere", "moderator"])
def test_to_a_moderator_another_servers_objects_do_not_exist(world, who):
    """Neither those of the first server for somebody else's moderator, nor those of private conversations for anybody's."""
    client = world.clients[who]
    ids = world.ids if who == "moderator elsewhere" else world.private_ids
    before = _everything()
    for name, route in ROUTES.items():
        if not route.of_server:
            continue
        path = address(name, ids)
        if route.get:
            response = client.get(path)
            assert response.status_code == 404, name
            assert not _told(response, who)
        response = client.post(path, sent(name, ids))
        assert response.status_code in ({404, 405} if route.get else {404}), name
        assert not _told(response, who)
    assert _everything() == before


@pytest.mark.parametrize("who", ["moderator elsewhere", "moderator"])
def test_selected_and_matching_ones_of_elsewhere_are_left_alone(world, who):
    client = world.clients[who]
    ids = world.ids if who == "moderator elsewhere" else world.private_ids
    before = _everything()
    for name, route in ROUTES.items():
        if route.post and not route.of_server and who.split()[0] in route.roles:
            response = client.post(address(name, ids), sent(name, ids))
            assert response.status_code < 500, name
            assert not _told(response, who), name
    for filters in ("guild=", f"guild={ids['guild_id']}"):
        for path, more in (
            ("/memories/count/", {}),
            ("/memories/pause/", {"scope": "matching", "paused": "1"}),
            ("/memories/erase/", {"scope": "matching", "typed": "1"}),
        ):
            response = client.post(path, {"filters": filters, **more})
            assert response.status_code == 422, (path, filters)
    assert _everything() == before


def test_lists_searches_and_the_frame_tell_nothing_of_another_server(world):
    client = world.clients["moderator elsewhere"]
    for name in LISTS:
        for query in (
            "",
            f"?guild={world.guild.discord_id}",
            "?guild=",
            f"?q={HERE}",
            f"?channel={world.ids['channel_id']}",
        ):
            response = client.get(address(name, world.ids) + query)
            assert response.status_code in {200, 422}, (name, query)
            body = (
                response.content.decode()
                .replace(query, "")
                .replace(f'value="{HERE}"', "")
                .replace(f"“{HERE}”", "")
            )
            assert HERE not in body, (name, query)
            assert PRIVATE not in body and NAME not in body, (name, query)
            assert "All servers" not in body, (name, query)


def test_a_moderator_of_all_servers_does_not_read_private_conversations(world):
    client = world.clients["moderator of all"]
    assert HERE in client.get(f"/memories/?guild={world.guild.discord_id}").content.decode()
    for query in ("", "?guild=", f"?guild={world.private.discord_id}"):
        assert PRIVATE not in client.get(f"/memories/{query}").content.decode()
    for name in ("memory", "fact", "reply", "block"):
        assert client.get(address(name, world.private_ids)).status_code == 404, name
    assert world.clients["owner"].get(address("memory", world.private_ids)).status_code == 200


def test_documents_for_everybody_are_read_by_moderators_and_changed_by_owners(world):
    shared = Document.objects.create(name="rules.md")
    both = Document.objects.create(name="both.md", everywhere=False)
    both.guilds.add(world.guild, world.other)
    for one in (shared, both):
        DocumentVersion.objects.create(
            document=one, number=1, state="ready", stored_name="x", digest="1", size=1
        )
    client = world.clients["moderator"]
    for document in (shared, both):
        page = client.get(f"/documents/{document.pk}/").content.decode()
        assert document.name in page and "Delete…" not in page and "Other" not in page
        for action in ("change", "delete", "new-version"):
            data = {"action": "disable", "typed": document.name}
            assert client.post(f"/documents/{document.pk}/{action}/", data).status_code == 403
        document.refresh_from_db()
        assert document.enabled
    own = f"/documents/{world.ids['document_id']}/"
    assert "Delete…" in client.get(own).content.decode()
    client.post(f"{own}change/", {"action": "scope", "where": "everywhere"})
    client.post(f"{own}change/", {"action": "scope", "where": "guilds", "guild": str(world.other.discord_id)})
    document = Document.objects.get(pk=world.ids["document_id"])
    assert not document.everywhere and list(document.guilds.all()) == [world.guild]


def test_a_contradiction_with_what_was_learned_elsewhere_is_not_shown_or_settled(world):
    elsewhere = Fact.objects.get(pk=world.private_ids["fact_id"])
    fact = Fact.objects.get(pk=world.ids["fact_id"])
    fact.state, fact.reason, fact.rival = "quarantined", "contradiction", elsewhere
    fact.save()
    client = world.clients["moderator"]
    assert PRIVATE not in client.get("/facts/?tab=contradictions").content.decode()
    assert PRIVATE not in client.get(f"/facts/{fact.pk}/").content.decode()
    assert client.post("/facts/settle/", {"key": fact.pk, "choice": "new"}).status_code == 404
    elsewhere.refresh_from_db()
    assert elsewhere.state == "active"


def test_a_moderator_cannot_ask_for_what_a_member_said_in_private(world):
    page = world.clients["moderator"].get("/core-memory/preview/").content.decode()
    assert "In private" not in page
    assert world.clients["moderator"].get("/core-memory/persona/").status_code == 404


def test_the_rail_shows_what_may_be_opened(world):
    def rail(who: str) -> list[str]:
        return [item.label for item in world.clients[who].get("/").context["frame"].navigation]

    assert rail("viewer") == ["Overview"]
    assert rail("moderator") == [
        "Overview",
        "Memories",
        "Facts",
        "Core memory",
        "Documents",
        "Playground",
        "Replies",
    ]
    assert "Members" in rail("privacy") and "Memories" not in rail("privacy")
    assert set(rail("privacy")) < set(rail("owner"))


def test_the_counts_in_the_rail_are_of_ones_own_server(world):
    counts = {
        who: {item.label: item.count for item in world.clients[who].get("/").context["frame"].navigation}
        for who in ("owner", "moderator", "moderator elsewhere")
    }
    assert counts["owner"]["Memories"] == 2
    assert counts["moderator"]["Memories"] == 1 and counts["moderator"]["Facts"] == 1
    assert counts["moderator elsewhere"]["Memories"] == 0 and counts["moderator elsewhere"]["Facts"] == 0


def test_the_first_page_of_a_viewer_names_nobody_and_links_nowhere(world):
    page = world.clients["viewer"].get("/").content.decode()
    for path in ("/memories/", "/members/", "/replies/", "/erasures/", "/jobs/", "/sample/"):
        assert f'"{path}' not in page, path


def test_several_roles_add_up(world):
    user = User.objects.get(username="moderator")
    roles.grant(user_id=user.pk, role=Role.PRIVACY, guild=None, by="command")
    client = world.clients["moderator"]
    assert client.get("/members/").status_code == 200
    # The one role's reach is not lent to the other.
    assert client.get(address("memory", world.private_ids)).status_code == 404
    roles.grant(user_id=user.pk, role=Role.MODERATOR, guild=world.other.discord_id, by="command")
    for guild in (world.guild, world.other):
        assert (
            client.get(f"/memories/?guild={guild.discord_id}").context["frame"].guild.id == guild.discord_id
        )


def test_what_is_taken_away_is_gone_with_the_next_request(world):
    client, user = world.clients["moderator"], User.objects.get(username="moderator")
    assert client.get("/memories/").status_code == 200
    roles.revoke(user_id=user.pk, role=Role.MODERATOR, guild=world.guild.discord_id, by="command")
    assert client.get("/memories/").status_code == 403
    User.objects.filter(username="viewer").update(is_active=False)
    assert world.clients["viewer"].get("/").status_code in {302, 403}


def test_a_role_for_a_server_that_is_gone_opens_nothing():
    guild, user = GuildFactory(), User.objects.create_user("late", password="x")
    roles.grant(user_id=user.pk, role=Role.MODERATOR, guild=guild.discord_id, by="command")
    guild.delete()
    client = Client()
    client.force_login(user)
    assert client.get("/memories/").status_code == 403
    assert client.get("/").status_code == 403


def test_an_account_of_staff_without_a_role_is_nobody():
    client = Client()
    client.force_login(User.objects.create_user("staff", password="x", is_staff=True))
    assert client.get("/").status_code == 403


def test_every_role_has_its_line():
    assert set(ROLES) == set(Role)
    assert ROLES[Role.OWNER] == set(Permission)


def _told(response: Any, who: str) -> bool:
    """Whether something stands there that this person may not read."""
    body = response.content.decode()
    return PRIVATE in body or (who == "moderator elsewhere" and (HERE in body or NAME in body))


def _everything() -> dict[str, Any]:
    """What must be as it was."""
    return {
        "messages": set(Message.objects.values_list("key", "text", "paused")),
        "facts": set(Fact.objects.values_list("id", "text", "state", "said_at")),
        "replies": set(Reply.objects.filter(origin="discord").values_list("id", "answer_id")),
        "blocks": set(MemoryBlock.objects.values_list("id", "value", "limit", "version")),
        "documents": set(Document.objects.values_list("id", "enabled", "everywhere")),
        "proposals": set(PersonaProposal.objects.values_list("id", "state")),
    }
