"""Settings and health: what counts and where it comes from, tests of connections, keys, the orphan scan, the embedding model."""

from __future__ import annotations

import json
from datetime import timedelta

import httpx
import pytest
from django.db import connection
from django.utils import timezone
from pydantic import SecretStr

from memory import access, backends, embedding, tasks, upkeep
from memory.errors import ModelUnavailable
from memory.llm.hashing import HashEmbedder
from memory.llm.scripted import ScriptedChatModel
from memory.models import ApiKey, AuditEntry, EmbeddingSpace, Guild, InstallationState, Message, OutboxEntry
from musebot_site import effective
from musebot_site.celery import app
from musebot_site.config import load_config
from musebot_site.dashboard import connections, installation
from tests.factories import GuildFactory, MessageFactory
from tests.memory.memory_support import opted_in, say, work
from tests.memory.test_embedding_change import Model

pytestmark = pytest.mark.django_db

SECRETS = ("token-that-nobody-sees", "key-that-nobody-sees", "password-that-nobody-sees")


def configure(settings, tmp_path, environment=None, bot=None):
    """The configuration as it would be read from these variables and this file."""
    variables = {"MUSEBOT_HOME": str(tmp_path), "MUSEBOT_CONFIG": ""} | (environment or {})
    if bot is not None:
        path = tmp_path / "config.jsonc"
        path.write_text(json.dumps({"bots": [bot]}))
        variables["MUSEBOT_CONFIG"] = str(path)
    same = {name: getattr(settings.MUSEBOT, name) for name in ("home", "database_path", "privacy_key")}
    settings.MUSEBOT = load_config(variables, tmp_path).model_copy(update=same)


def rows(text=""):
    return {row.name: row for row in effective.effective(text)}


# Where a value comes from


def test_each_value_says_where_it_comes_from(settings, tmp_path):
    bot = {
        "botId": "muse",
        "requiresMention": False,
        "chatApis": {"discord": {"channels": ["5"]}},
        "memory": {"maxFacts": 7, "autoExtract": {"maxTokens": 9}},
        "ollama": {"hosts": ["http://one"], "topK": 3},
    }
    configure(settings, tmp_path, {"OLLAMA_HOSTS": "two", "MUSEBOT_EMBEDDING_MODEL": ""}, bot)
    found = rows()
    assert (found["Ollama hosts"].value, found["Ollama hosts"].origin) == ("http://two:11434", "environment")
    assert found["Ollama hosts"].where == "OLLAMA_HOSTS"
    mention = found["A mention is needed"]
    assert (mention.value, mention.origin, mention.where) == ("no", "file", "config.jsonc: requiresMention")
    assert (found["maxFacts"].value, found["maxFacts"].where) == ("7", "config.jsonc: memory.maxFacts")
    assert found["autoExtract: maxTokens"].where == "config.jsonc: memory.autoExtract.maxTokens"
    assert (found["ttl"].origin, found["maxFactLength"].origin) == ("default", "default")
    assert (
        found["Channels it may reply in"].origin == "file"
        and found["Channels it keeps out of"].origin == "default"
    )
    # Set to nothing is a choice as well.
    assert (found["Embedding model"].value, found["Embedding model"].origin) == ("none", "environment")
    assert (found["topK"].origin, found["Recalled for an answer, at most"].value) == ("default", "3")


def test_secrets_are_said_to_be_set_and_never_shown(staff, settings, tmp_path):
    secret, key, password = SECRETS
    configure(
        settings,
        tmp_path,
        {
            "DISCORD_TOKEN": secret,
            "OPENAI_API_KEY": key,
            "OPENAI_BASE_URL": f"https://me:{password}@models.test/v1?key={key}",
            "CELERY_BROKER_URL": f"redis://me:{password}@127.0.0.1:1/0",
            "MUSEBOT_SOMETHING_NEW": secret,
        },
    )
    bodies = [
        staff.get(path).content.decode()
        for path in ("/settings/", "/settings/health/", "/settings/?q=nobody")
    ]
    for part in ("discord", "broker", "chat"):
        bodies.append(staff.post("/settings/test/", {"part": part}, HTTP_HX_REQUEST="true").content.decode())
    for body in bodies:
        assert not any(one in body for one in SECRETS)
    assert "MUSEBOT_SOMETHING_NEW" in bodies[0] and "https://…@models.test/v1" in bodies[0]
    assert rows()["Token"].value == "set" and rows()["Secret of the application"].value == "not set"
    assert effective.shown(SecretStr("x")) == "set"


def test_settings_are_searched(staff, settings):
    body = staff.get("/settings/?q=OLLAMA_HOSTS").content.decode()
    assert "Ollama hosts" in body and "System prompt" not in body
    part = staff.get(
        "/settings/?q=storage+folder", HTTP_HX_REQUEST="true", HTTP_HX_TARGET="results"
    ).content.decode()
    assert "Folder for everything" in part and "<html" not in part
    assert b"Nothing matches" in staff.get("/settings/?q=zzzz").content


def test_what_is_wrong_stands_first_with_the_next_step(staff, settings):
    chat = settings.MUSEBOT.chat.model_copy(update={"context_window": 100})
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"chat": chat})
    for path in ("/settings/", "/settings/health/"):
        body = staff.get(path).content.decode()
        assert "too little for a prompt and an answer" in body and "Set it to 4096 or more." in body


# Connections


def looked_at(staff, part):
    found = staff.post("/settings/test/", {"part": part}, HTTP_HX_REQUEST="true")
    assert found.status_code == 200
    return " ".join(found.content.decode().split())


def test_models_are_asked_when_the_button_is_pressed(staff):
    body = staff.get("/settings/health/").content.decode()
    assert body.count("not tested yet") == 6
    assert "Not connected" in looked_at(staff, "chat")
    with backends.override(chat_model=ScriptedChatModel(["Hello."])):
        assert "Answers" in looked_at(staff, "chat")
    with backends.override(embedder=HashEmbedder(32)):
        assert "32 dimensions" in looked_at(staff, "embedding")
    model = Model("1", 8)
    model.down = ModelUnavailable("nobody at home")
    with backends.override(embedder=model):
        body = looked_at(staff, "embedding")
        assert "Failed" in body and "nobody at home" in body
    assert "Off" in looked_at(staff, "vision")
    assert staff.post("/settings/test/", {"part": "kitchen"}).status_code == 422


def test_without_a_script_the_result_is_a_notice(staff):
    body = staff.post("/settings/test/", {"part": "database"}, follow=True).content.decode()
    assert "Database: Reads and writes." in body
    assert AuditEntry.objects.filter(action="settings.tested", object_id="database").exists()


@pytest.mark.parametrize(
    "answer, word",
    [
        (httpx.Response(200, json={"username": "muse"}), "as muse"),
        (httpx.Response(401), "Token refused"),
        (httpx.Response(429), "Busy"),
        (httpx.Response(500), "Status 500"),
        (httpx.Response(200, text="<html>"), "Does not answer"),
        (httpx.ConnectTimeout("token-that-nobody-sees"), "ConnectTimeout"),
    ],
)
def test_discord(staff, settings, monkeypatch, answer, word):
    asked = []

    def get(url, **values):
        asked.append((url, values))
        if isinstance(answer, Exception):
            raise answer
        return answer

    discord = settings.MUSEBOT.discord.model_copy(
        update={"token": SecretStr(SECRETS[0]), "api_base": "http://d/api"}
    )
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"discord": discord})
    monkeypatch.setattr(httpx, "get", get)
    body = looked_at(staff, "discord")
    assert word in body and SECRETS[0] not in body
    [(url, values)] = asked
    assert url == "http://d/api/users/@me" and values["timeout"] == connections.SECONDS


def test_a_broker_that_is_away(staff, monkeypatch):
    class Away:
        def ensure_connection(self, **values):
            raise OSError("redis://me:password-that-nobody-sees@host")

        def release(self):
            pass

    assert "Takes wake-ups" in looked_at(staff, "broker")
    monkeypatch.setattr(app, "connection_for_write", Away)
    body = looked_at(staff, "broker")
    assert "Does not answer" in body and "OSError" in body and SECRETS[2] not in body


# The installation


def test_facts_about_the_installation(staff, monkeypatch):
    GuildFactory(name="Old", snapshot_at=timezone.now() - timedelta(days=3))
    GuildFactory(name="Current", snapshot_at=timezone.now())
    OutboxEntry.objects.create(kind="embed", subject=1, due_at=timezone.now())
    OutboxEntry.objects.create(kind="embed", subject=2, due_at=timezone.now(), state="failed")
    body = " ".join(staff.get("/settings/health/").content.decode().split())
    assert "of 1 of 2 servers; only the same channel is recalled there" in body
    assert "1 waiting" in body and "1 failed" in body and "free of" in body
    assert "Never started" in body and connection.display_name in body
    low = installation.Disk(free=10**9, total=10**12, database=5)
    assert low.is_low and not installation.Disk(free=10**11, total=10**12, database=None).is_low
    monkeypatch.setattr(installation, "disk", lambda: low)
    assert "low" in staff.get("/settings/health/").content.decode()


def test_retention_of_all_servers(staff):
    row = GuildFactory(name="Harbour", max_age_days=90, message_count=3)
    body = staff.get("/settings/retention/").content.decode()
    assert "90 days" in body and f"/servers/{row.discord_id}/#keep-title" in body


# The orphan scan


def test_the_orphan_scan_looks_first_and_mends_when_asked(staff):
    ada = opted_in("ada")
    keys = [say(ada, f"message {n}") for n in range(3)]
    work()
    space = EmbeddingSpace.objects.get()
    index = backends.vector_index(space)
    vector = index.vectors(keys[:1])[keys[0]]
    from memory.index.base import VectorRow

    stray = keys[2] + 1000
    index.add([VectorRow(key=stray, channel=1, vector=vector)])
    index.remove([keys[1]])
    body = staff.post("/settings/scan/", {"action": "look"}, follow=True).content.decode()
    assert "the worker does it" in body and 'hx-trigger="every 2s"' in body
    work("scan_indexes")
    body = " ".join(staff.get("/settings/health/").content.decode().split())
    assert "does not fit" in body and "Mend 2" in body and "every 2s" not in body
    assert upkeep.last().found == {"vectors_without_a_message": 1, "messages_without_a_vector": 1}
    assert index.vectors([stray])
    staff.post("/settings/scan/", {"action": "mend"})
    work("scan_indexes")
    assert "mended" in staff.get("/settings/health/").content.decode()
    assert not index.vectors([stray]) and Message.objects.get(key=keys[1]).embedding == "pending"
    work()
    assert upkeep.scan(mend=False) == {}
    upkeep.begin(mend=False)
    work("scan_indexes")
    assert "everything fits" in staff.get("/settings/health/").content.decode()


def test_a_scan_that_failed_says_so(staff, monkeypatch):
    upkeep.begin(mend=False)
    monkeypatch.setattr(upkeep, "scan", lambda **values: 1 / 0)
    OutboxEntry.objects.update(attempts=99)
    tasks.work_through("scan_indexes")
    assert upkeep.last().stage == "failed"
    assert "ZeroDivisionError" in staff.get("/settings/health/").content.decode()


# Keys


def test_a_key_is_shown_once(staff):
    assert b"No key yet" in staff.get("/settings/keys/").content
    made = staff.post("/settings/keys/", {"name": "Backups", "scopes": ["read", "ask"]})
    row = ApiKey.objects.get()
    body = made.content.decode()
    assert made.status_code == 201 and "no-store" in made["Cache-Control"]
    [key] = [
        word
        for word in body.replace("<", " ").replace(">", " ").split()
        if word.startswith("mb_") and len(word) > 20
    ]
    assert access.check_key(key).scopes == {"read", "ask"}
    again = staff.get("/settings/keys/").content.decode()
    assert "Backups" in again and row.prefix in again and key not in again
    assert AuditEntry.objects.filter(action="key.made", object_id=str(row.pk)).exists()


@pytest.mark.parametrize(
    "sent", [{"name": "", "scopes": ["read"]}, {"name": "x"}, {"name": "x", "scopes": ["fly"]}]
)
def test_a_key_that_cannot_be(staff, sent):
    assert staff.post("/settings/keys/", sent).status_code == 422
    assert not ApiKey.objects.exists()


def test_a_key_is_revoked(staff):
    row, key = access.make_key(name="Old")
    body = staff.post(f"/settings/keys/{row.pk}/revoke/", follow=True).content.decode()
    assert "is revoked" in body and access.check_key(key) is None
    assert staff.post("/settings/keys/99/revoke/").status_code == 404


# The embedding model


def test_what_a_change_would_take(staff):
    GuildFactory(message_count=1_000_000)
    with backends.override(older_embedder=HashEmbedder(128)):
        body = " ".join(staff.post("/settings/embedding/", {"model": "local"}).content.decode().split())
    assert (
        "for 1,000,000 memories" in body
        and "128 dimensions" in body
        and "MUSEBOT_EMBEDDING_MODEL=local" in body
    )
    away = Model("1", 8)
    away.down = ModelUnavailable("It does not answer.")
    with backends.override(older_embedder=away):
        refused = staff.post("/settings/embedding/", {"model": "ollama:nomic"})
    assert refused.status_code == 422 and b"Nothing was changed" in refused.content
    assert staff.post("/settings/embedding/", {"model": "what"}).status_code == 422


@pytest.fixture
def switched():
    older, newer = Model("1", 64), Model("2", 32)
    with backends.override(embedder=older):
        say(opted_in("ada"), "hello there")
        work()
    with backends.override(embedder=newer, older_embedder=older):
        embedding.notice_change()
        yield older, newer


def act(staff, **values):
    return staff.post("/settings/embedding/act/", values, follow=True).content.decode()


def test_a_change_is_seen_held_and_rolled_back(staff, switched):
    body = staff.get("/settings/embedding/").content.decode()
    assert "0 of 1 messages" in body or "building" in body
    part = staff.get("/settings/embedding/", HTTP_HX_REQUEST="true", HTTP_HX_TARGET="change").content.decode()
    assert "<html" not in part and 'hx-trigger="every 2s"' in part
    staff.post("/jobs/act/", {"job": "vectors", "action": "pause", "next": "/settings/embedding/"})
    assert "paused" in staff.get("/settings/embedding/").content.decode()
    staff.post("/jobs/act/", {"job": "vectors", "action": "resume"})
    work("respace")
    body = staff.get("/settings/embedding/").content.decode()
    assert "Roll back to hash" in body and "64 dimensions" in " ".join(body.split())
    assert "are kept until" in act(staff, action="keep", days="30")
    assert "serves again" in act(staff, action="back")
    assert dict(EmbeddingSpace.objects.values_list("digest", "state")) == {"1": "active", "2": "kept"}
    work("respace")
    assert "at once" in staff.get("/settings/embedding/").content.decode()
    act(staff, action="drop")
    work("respace")
    assert list(EmbeddingSpace.objects.values_list("digest", flat=True)) == ["1"]
    assert "Nothing is kept" in staff.get("/settings/embedding/").content.decode()
    actions = AuditEntry.objects.filter(action="embedding.changed").values_list("object_id", flat=True)
    assert set(actions) >= {"back", "keep", "drop"}


def test_there_is_no_way_back_to_a_model_that_is_away(staff, switched):
    work("respace")
    switched[0].down = ModelUnavailable("away")
    assert "does not answer" in act(staff, action="back")
    assert staff.post("/settings/embedding/act/", {"action": "keep", "days": "0"}).status_code == 422
    assert staff.post("/settings/embedding/act/", {"action": "dance"}).status_code == 422


def test_pages_stay_small(staff):
    for n in range(60):
        access.make_key(name=f"key {n}")
    GuildFactory.create_batch(60)
    MessageFactory()
    InstallationState.objects.create(name="worker")
    for path in (
        "/settings/",
        "/settings/health/",
        "/settings/embedding/",
        "/settings/keys/",
        "/settings/retention/",
    ):
        assert len(staff.get(path).content) < 60_000, path
    assert Guild.objects.count() >= 60
