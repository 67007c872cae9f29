"""The commands that people and scripts call."""

from __future__ import annotations

import json
import time
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memory import access, backends, demo, erasure
from memory.capture.importing import user_key
from memory.conf import get_config
from memory.llm.hashing import HashEmbedder
from memory.models import (
    ApiKey,
    ConsentEvent,
    ErasureRequest,
    Guild,
    InstallationState,
    Member,
    Message,
    OutboxEntry,
    Reply,
)
from tests.memory.test_import_files import GUILD, line, lines_file

pytestmark = pytest.mark.django_db(transaction=True)


def run(*arguments, **options) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


@pytest.fixture
def chat(tmp_path):
    path = lines_file(
        tmp_path / "chat.jsonl",
        line(id="m1", user_id="ada", text="I keep bees behind the old mill"),
        line(id="m2", user_id="ben", text="My sister plays the cello", channel_id="music"),
        line(id="m3", user_id="bot", text="Bees are lovely", is_bot=True, reply_to="m1"),
    )
    return str(path)


@pytest.fixture
def imported(chat):
    return run("import_chat", chat, "--guild", str(GUILD), "--consent-all")


def test_an_import_can_be_recalled_at_once(imported):
    assert "3 messages read, 3 stored" in imported and "can be recalled" in imported
    assert not OutboxEntry.objects.exists()
    found = json.loads(run("recall", "cello", "--guild", str(GUILD), "--json"))
    assert found["results"][0]["text"] == "My sister plays the cello"
    text = run("recall", "cello", "--guild", str(GUILD), "-k", "1")
    assert "My sister plays the cello" in text and "bm25" in text


def test_an_import_leaves_embedding_to_a_worker_that_lives(chat):
    InstallationState.objects.create(name="worker")
    said = run("import_chat", chat, "--guild", str(GUILD), "--consent-all")
    assert "3 messages wait for the worker" in said
    assert OutboxEntry.objects.count() == 3
    assert "can be recalled" in run("import_chat", chat, "--guild", str(GUILD), "--consent-all", "--embed")


def test_an_import_without_consent_says_what_to_do(chat):
    said = run("import_chat", chat, "--guild", str(GUILD))
    assert "0 stored" in said and "--consent-all" in said
    assert not Message.objects.exists()
    assert not Message.objects.exists() and not Member.objects.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("import_chat", "/none", "--guild", "1"),
        ("import_chat", "/none", "--guild", "x"),
        ("recall", "x", "--guild", "5"),
        ("recall", "x", "--guild", "-5"),
        ("recall", " ", "--guild", "5"),
        ("recall", "x", "--guild", "5", "-k", "0"),
        ("ask", "  "),
        ("ask", "x", "--guild", "5"),
        ("ask", "x", "--user", "0"),
        ("createapikey", "x", "--scope", "fly"),
        ("createapikey", " "),
        ("verify_erasure", ""),
    ],
)
def test_bad_arguments_are_refused_in_words(arguments):
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert len(str(caught.value)) > 10


def test_recall_by_the_ids_of_the_file(imported):
    found = json.loads(
        run(
            "recall",
            "what do I keep?",
            "--guild",
            str(GUILD),
            "--channel",
            "general",
            "--user",
            "ada",
            "--json",
        )
    )
    assert found["results"][0]["user_id"] == str(user_key("ada"))
    assert {row["channel"] for row in found["results"]} == {"general"}
    with pytest.raises(CommandError, match="#general"):
        run("recall", "x", "--guild", str(GUILD), "--channel", "nowhere")


def test_ask_shows_answer_and_trace(imported):
    said = run("ask", "Who plays the cello?")
    assert "My sister plays the cello" in said and "Trace " in said and "cosine" in said
    body = json.loads(run("ask", "Who plays the cello?", "--guild", str(GUILD), "--user", "ben", "--json"))
    assert body["memories"][0]["text"] == "My sister plays the cello" and body["trace_id"]
    assert Message.objects.count() == 3


def test_ask_waits_for_a_model_that_is_loaded_first(imported, settings):
    class Loads(HashEmbedder):
        loaded = False

        def embed_query(self, text):
            if not self.loaded:
                time.sleep(1)
            self.loaded = True
            return super().embed_query(text)

    config = get_config()
    settings.MUSEBOT = config.model_copy(
        update={"memory": config.memory.model_copy(update={"recall_timeout": 0.5})}
    )
    with backends.override(embedder=Loads()):
        assert "Recall was not complete" not in run("ask", "Who plays the cello?", "--guild", str(GUILD))


def test_the_key_alone_is_on_standard_output():
    key = run("createapikey", "script", "--scope", "read", "--scope", "ask").strip()
    assert access.check_key(key).scopes == {"read", "ask"}
    assert access.check_key(run("createapikey", "all").strip()).allows("erase")
    assert ApiKey.objects.count() == 2


def test_verify_erasure_tells_what_is_left(imported):
    with pytest.raises(SystemExit) as caught:
        run("verify_erasure", "ada")
    assert caught.value.code == 1
    erasure.run(erasure.request(user_id=user_key("ada"), origin="command").id)
    assert "Nothing is left" in run("verify_erasure", "ada")
    data = json.loads(run("verify_erasure", str(user_key("ada")), "--json"))
    assert data == {"user_id": str(user_key("ada")), "clean": True, "remains": {}}


def test_the_sample_community_comes_once_and_goes_without_a_trace():
    said = run("sample_community")
    assert "320 messages" in said
    assert run("sample_community") == said
    guild = Guild.objects.get(discord_id=demo.GUILD_ID)
    assert guild.is_sample and guild.message_count == 320
    assert set(Member.objects.values_list("origin", flat=True)) == {"sample"}
    assert not OutboxEntry.objects.exists()
    assert "320 messages" in run("sample_community", "--remove")
    for model in (Guild, Member, Message, ConsentEvent, ErasureRequest, OutboxEntry):
        assert not model.objects.exists(), model
    assert "no sample community" in run("sample_community", "--remove")
    assert "320 messages" in run("sample_community")


def test_the_sample_committee_is_read_by_its_members_only():
    run("sample_community")
    arguments = ("recall", "mooring fees", "--guild", str(demo.GUILD_ID), "--json")
    in_general = json.loads(run(*arguments, "--channel", "general"))
    assert not in_general["degraded"].startswith("same_channel")
    assert "committee" not in {row["channel"] for row in in_general["results"] + in_general["left_out"]}
    in_committee = json.loads(run(*arguments, "--channel", "committee"))
    assert "committee" in {row["channel"] for row in in_committee["results"]}
    Guild.objects.update(snapshot_at="2020-01-01T00:00Z")
    assert json.loads(run(*arguments, "--channel", "general"))["results"] == in_general["results"]


def test_a_channel_of_one_of_several_servers_is_enough_to_ask(imported, tmp_path):
    other = lines_file(
        tmp_path / "other.jsonl", line(id="1", user_id="eve", text="Newts", channel_id="1400000000000000077")
    )
    run("import_chat", str(other), "--guild", str(GUILD + 1), "--consent-all")
    body = json.loads(run("ask", "Newts?", "--channel", "1400000000000000077", "--json"))
    assert [row["text"] for row in body["memories"]] == ["Newts"]
    assert Reply.objects.get(id=body["trace_id"]).origin == "command"
    for channel in ("78", "general"):
        with pytest.raises(CommandError, match="There is no channel with the id"):
            run("ask", "Newts?", "--channel", channel)


def test_a_file_without_a_message_makes_no_server(tmp_path):
    path = tmp_path / "chat.jsonl"
    path.write_text('{"a": 1}\n')
    with pytest.raises(SystemExit):
        run("import_chat", str(path), "--guild", str(GUILD), "--consent-all")
    assert not Guild.objects.exists()
