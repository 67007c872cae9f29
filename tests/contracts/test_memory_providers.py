"""What holds for every memory provider, and that each keeps the other's rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memory import backends, blocks, capture, consent
from memory.blocks import Place, Toolbox, archive, provider
from memory.blocks.providers import names
from memory.blocks.schemas import NAMES, offered
from memory.errors import ConfigurationError, ModelUnavailable
from memory.llm.scripted import ScriptedEmbedder
from memory.models import ArchivalEntry, BlockRevision
from tests.factories import START, ChannelFactory, incoming
from tests.memory.blocks_support import ada, place, toolbox
from tests.memory.memory_support import opted_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=["flat", "letta"])
def name(request):
    return request.param


@pytest.fixture
def where():
    return place(ada())


@pytest.fixture
def tools(where, name):
    return toolbox(where, name)


def call(tools, tool, **arguments):
    return tools.call(tool, arguments, "")


def test_there_are_two_and_a_wrong_name_is_refused():
    assert names() == ["flat", "letta"]
    assert provider().name == "flat"
    with pytest.raises(ConfigurationError):
        provider("redis")


def test_flat_offers_five_tools_and_letta_seven():
    five = {
        "core_memory_append",
        "core_memory_replace",
        "archival_memory_insert",
        "archival_memory_search",
        "recall_memory_search",
    }
    assert set(provider("flat").tools) == five
    assert set(provider("letta").tools) == five | {"rethink", "archival_memory_delete"} == set(NAMES)
    for tool in offered(NAMES):
        assert tool["type"] == "function" and set(tool) == {"type", "function"}
        assert set(tool["function"]) == {"name", "description", "parameters"}
        properties = tool["function"]["parameters"]["properties"]
        assert not {"user_id", "scope", "guild_id", "channel_id"} & set(properties)
        if "block" in properties:
            assert properties["block"]["enum"] == ["human", "working_context"]


class TestBlocks:
    def test_append_gives_the_figures(self, tools):
        first = call(tools, "core_memory_append", block="human", content="  likes tea  ")
        assert first == {"ok": True, "block": "human", "version": 1, "chars": 9, "limit": 2000}
        second = call(tools, "core_memory_append", block="working_context", content="step one", junk=1)
        assert second == {"ok": True, "block": "working_context", "version": 1, "chars": 8, "limit": 4000}

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            ({"block": "human", "content": "  "}, "empty"),
            ({"block": "human"}, "empty"),
            ({"block": "human", "content": {"a": 1}}, "empty"),
            ({"block": "planet", "content": "x"}, "unknown_block"),
            ({"content": "x"}, "unknown_block"),
            ({"block": "persona", "content": "x"}, "forbidden"),
            ({"block": "human", "content": "x" * 1001}, "over_limit"),
        ],
    )
    def test_append_refuses(self, tools, arguments, error):
        result = tools.call("core_memory_append", arguments, "")
        assert (result["ok"], result["error"]) == (False, error) and result["hint"]
        assert not BlockRevision.objects.exists()

    def test_replace_needs_the_old_text_exactly_once(self, tools, where):
        call(tools, "core_memory_append", block="human", content="aa bb aa")
        result = call(tools, "core_memory_replace", block="human", old_text="aa", new_text="x")
        assert (result["error"], result["count"]) == ("ambiguous", 2)
        assert (
            call(tools, "core_memory_replace", block="human", old_text="zz", new_text="x")["error"]
            == "not_found"
        )
        assert (
            call(tools, "core_memory_replace", block="human", old_text="", new_text="x")["error"] == "empty"
        )
        assert call(tools, "core_memory_replace", block="human", old_text="bb")["error"] == "empty"
        assert call(tools, "core_memory_replace", block="human", old_text=" bb", new_text="")["version"] == 2
        assert blocks.get(where.human()).value == "aa aa"

    def test_texts_are_compared_in_one_unicode_form(self, tools, where):
        call(tools, "core_memory_append", block="human", content="cafe\u0301")
        assert blocks.get(where.human()).chars == 4
        assert call(tools, "core_memory_replace", block="human", old_text="caf\u00e9", new_text="bar")["ok"]

    def test_a_number_is_taken_as_text_and_half_a_character_is_no_failure(self, tools):
        assert call(tools, "core_memory_append", block="HUMAN ", content=42)["chars"] == 2
        assert call(tools, "core_memory_append", block="human", content="half \ud83d and \0 nul")["ok"]

    def test_a_read_only_block_stays(self, tools, where):
        call(tools, "core_memory_append", block="human", content="likes tea")
        from memory.models import MemoryBlock

        MemoryBlock.objects.update(read_only=True)
        assert call(tools, "core_memory_append", block="human", content="x")["error"] == "read_only"

    def test_a_repeated_call_id_gives_the_first_result(self, tools, where, name):
        arguments = {"block": "human", "content": "likes tea"}
        first = tools.call("core_memory_append", arguments, "call-1")
        tools.call("core_memory_append", {"block": "human", "content": "more"}, "call-2")
        assert tools.call("core_memory_append", arguments, "call-1") == first
        assert toolbox(where, name).call("core_memory_append", arguments, "call-1") == first
        assert blocks.get(where.human()).value == "likes tea\nmore"


class TestRethink:
    def test_only_letta_offers_it(self, tools, name):
        result = call(tools, "rethink", block="human", new_content="new", version=0, reason="r")
        assert result["ok"] is (name == "letta")
        if name == "flat":
            assert result["error"] == "unavailable"

    def test_the_version_may_be_digits_and_is_needed(self, where):
        tools = toolbox(where)
        assert call(tools, "rethink", block="human", new_content="one", version="0")["version"] == 1
        assert call(tools, "rethink", block="human", new_content="two")["error"] == "conflict"
        stale = call(tools, "rethink", block="human", new_content="two", version=0)
        assert (stale["error"], stale["version"], stale["value"]) == ("conflict", 1, "one")

    def test_where_the_block_is_not_shown_its_value_is_not_given_away(self):
        member, channel = ada(), ChannelFactory()
        here = place(member, private=False, channel=channel)
        blocks.append(here.human(), "a secret", actor=here.actor("model"))
        result = call(toolbox(here), "rethink", block="human", new_content="x", version=0)
        assert result["error"] == "forbidden" and "secret" not in str(result)


class TestArchive:
    def test_an_entry_is_stored_once(self, tools):
        first = call(
            tools, "archival_memory_insert", content="The boat is green.", tags=["Boat", "boat", " "]
        )
        assert first["ok"] and not first["duplicate"] and first["embedded"] and first["id"].isdecimal()
        again = call(tools, "archival_memory_insert", content="The boat is green. ")
        assert again == {"ok": True, "id": first["id"], "duplicate": True, "embedded": True}
        assert ArchivalEntry.objects.get().tags == ["boat"]

    def test_the_original_text_is_kept_whole(self, tools):
        text = "字" * 4000
        assert call(tools, "archival_memory_insert", content=text)["ok"]
        assert ArchivalEntry.objects.get().text == text
        result = call(tools, "archival_memory_insert", content=text + "字")
        assert (result["error"], result["overage"]) == ("over_limit", 1)
        assert call(tools, "archival_memory_insert", content=" \n")["error"] == "empty"

    def test_words_find_it_with_time_and_id(self, tools):
        stored = call(tools, "archival_memory_insert", content="Her boat is called Clementine")
        call(tools, "archival_memory_insert", content="The harbour closes at nine")
        result = call(tools, "archival_memory_search", query="clementine", limit="1")
        assert result["ok"] and result["degraded"] is False and result["next_cursor"] in {None, "1"}
        hit = result["results"][0]
        assert set(hit) == {"id", "time", "text", "score"}
        assert (hit["id"], hit["text"]) == (stored["id"], "Her boat is called Clementine")
        assert datetime.fromisoformat(hit["time"]).tzinfo is not None

    def test_tags_dates_and_pages(self, tools, where):
        for day in range(1, 8):
            at = START + timedelta(days=day)
            archive.insert(where, f"note {day}", ["odd" if day % 2 else "even"], event_time=at)
        page = call(tools, "archival_memory_search", query="note", tags="odd", limit=3)
        rest = call(
            tools, "archival_memory_search", query="note", tags=["odd"], limit=3, cursor=page["next_cursor"]
        )
        texts = [hit["text"] for hit in page["results"] + rest["results"]]
        assert sorted(texts) == ["note 1", "note 3", "note 5", "note 7"] and rest["next_cursor"] is None
        found = call(
            tools, "archival_memory_search", query="", start_date="2026-03-03", end_date="2026-03-04"
        )
        assert [hit["text"] for hit in found["results"]] == ["note 3", "note 2"]
        for wrong in ({"start_date": "yesterday"}, {"start_date": "2026-03-05", "end_date": "2026-03-04"}):
            assert call(tools, "archival_memory_search", query="note", **wrong)["error"] == "invalid_date"
        assert call(tools, "archival_memory_search", query=" ")["error"] == "empty_query"
        assert call(tools, "archival_memory_search", query="note", limit=0)["results"]
        assert len(call(tools, "archival_memory_search", query="note", limit=999)["results"]) == 7
        assert call(tools, "archival_memory_search", query="note", cursor="junk")["results"]

    def test_dates_are_the_members(self, where, name):
        from zoneinfo import ZoneInfo

        here = Place(where.consent, where.channel_id, where.guild_id, True, zone=ZoneInfo("Pacific/Auckland"))
        late = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)  # already the second of March there
        archive.insert(here, "the ferry", event_time=late)
        tools = toolbox(here, name)
        assert not call(tools, "archival_memory_search", query="ferry", end_date="2026-03-01")["results"]
        found = call(
            tools, "archival_memory_search", query="ferry", start_date="2026-03-02", end_date="2026-03-02"
        )
        assert found["results"][0]["time"] == "2026-03-02T09:00+13:00"

    def test_nobody_elses_entries_are_found_or_deleted(self, tools, name):
        other = toolbox(place(ada()), name)
        stored = call(other, "archival_memory_insert", content="a secret of another person")
        assert call(tools, "archival_memory_search", query="secret")["results"] == []
        result = call(tools, "archival_memory_delete", id=stored["id"], reason="r")
        assert result["error"] == ("not_found" if name == "letta" else "unavailable")
        assert call(other, "archival_memory_search", query="secret")["results"]

    def test_a_deleted_entry_is_found_no_more_and_can_come_back(self, where):
        tools = toolbox(where)
        stored = call(tools, "archival_memory_insert", content="The shed key is red")
        assert call(tools, "archival_memory_delete", id=stored["id"], reason="wrong")["ok"]
        assert call(tools, "archival_memory_search", query="shed")["results"] == []
        assert call(tools, "archival_memory_delete", id="77", reason="r")["error"] == "not_found"
        assert call(tools, "archival_memory_delete", id="x", reason="r")["error"] == "not_found"
        assert archive.undelete(int(stored["id"]))
        assert call(tools, "archival_memory_search", query="shed")["results"]

    def test_the_same_text_after_a_deletion_is_a_new_entry(self, where):
        tools = toolbox(where)
        first = call(tools, "archival_memory_insert", content="The shed key is red")
        call(tools, "archival_memory_delete", id=first["id"], reason="wrong")
        second = call(tools, "archival_memory_insert", content="The shed key is red")
        assert second["duplicate"] is False and second["id"] != first["id"]
        assert archive.undelete(int(first["id"])) is False

    def test_with_the_embedder_down_it_stores_and_finds(self, where, name):
        embedder = ScriptedEmbedder()
        embedder.fail(ModelUnavailable("away"), times=1000)
        with backends.override(embedder=embedder):
            tools = toolbox(where, name)
            assert call(tools, "archival_memory_insert", content="The shed key is red")["embedded"] is False
            result = call(tools, "archival_memory_search", query="shed key")
        assert result["results"] and result["degraded"] is (name == "letta")

    def test_after_the_consent_ended_nothing_is_written(self, tools, where):
        consent.withdraw(user_id=where.user_id, origin="member")
        for tool, arguments in (
            ("core_memory_append", {"block": "human", "content": "x"}),
            ("archival_memory_insert", {"content": "x"}),
        ):
            assert tools.call(tool, arguments, "")["error"] == "forbidden"
        assert not ArchivalEntry.objects.exists() and not BlockRevision.objects.exists()


def test_letta_finds_by_meaning_and_survives_vectors_of_another_model(where):
    old = ScriptedEmbedder({"a b": [1.0] + [0.0] * 7}, dimension=8, name="old")
    new = ScriptedEmbedder(
        {"cello": [1.0] + [0.0] * 15, "string instrument": [1.0] + [0.0] * 15}, dimension=16, name="new"
    )
    tools = toolbox(where)
    with backends.override(embedder=old):
        assert call(tools, "archival_memory_insert", content="a b")["embedded"]
    with backends.override(embedder=new):
        assert call(tools, "archival_memory_insert", content="cello")["embedded"]
        result = call(tools, "archival_memory_search", query="string instrument")
        assert result["results"][0]["text"] == "cello" and result["degraded"] is True
        from tests.memory.memory_support import work

        work("embed_archive")
        assert call(tools, "archival_memory_search", query="string instrument")["degraded"] is False


def test_flat_searches_literally_line_by_line_newest_first(where):
    tools = toolbox(where, "flat")
    for day, text in enumerate(("Likes a.c", "likes abc", "LIKES A.C and jazz")):
        archive.insert(where, text, event_time=START + timedelta(days=day))
    found = call(tools, "archival_memory_search", query="likes a.c")
    assert [hit["text"] for hit in found["results"]] == ["LIKES A.C and jazz", "Likes a.c"]
    assert call(tools, "archival_memory_search", query="2026-03-02")["results"][0]["text"] == "likes abc"


class TestRecall:
    @pytest.fixture
    def said(self):
        author = opted_in("ada")
        for hour, text in enumerate(
            ("The ferry sails at noon", "Bread needs salt", "ferry tickets are sold out")
        ):
            capture.record_message(incoming(text, author=author, sent_at=START + timedelta(days=hour)))
        return author

    def here(self, author, **values):
        message = incoming()
        given = consent.find(author.id)
        return Place(given, message.channel.id, message.guild.id, **values)

    def test_words_dates_and_pages(self, said, name):
        tools = toolbox(self.here(said), name)
        found = call(tools, "recall_memory_search", query="ferry")
        assert {hit["text"] for hit in found["results"]} == {
            "Ada: The ferry sails at noon",
            "Ada: ferry tickets are sold out",
        }
        later = call(tools, "recall_memory_search", query="ferry", start_date="2026-03-02")
        assert [hit["text"] for hit in later["results"]] == ["Ada: ferry tickets are sold out"]
        days = call(tools, "recall_memory_search", start_date="2026-03-01", end_date="2026-03-02")
        assert [hit["text"] for hit in days["results"]] == [
            "Ada: Bread needs salt",
            "Ada: The ferry sails at noon",
        ]
        first = call(tools, "recall_memory_search", end_date="2027-01-01", limit=2)
        rest = call(
            tools, "recall_memory_search", end_date="2027-01-01", limit=2, cursor=first["next_cursor"]
        )
        assert len(first["results"]) == 2 and len(rest["results"]) == 1
        assert call(tools, "recall_memory_search")["error"] == "empty_query"
        assert call(tools, "recall_memory_search", query="?!")["error"] == "empty_query"

    def test_only_what_the_readers_of_the_channel_may_read(self, said, name):
        here = self.here(said)
        elsewhere = ChannelFactory(guild__discord_id=here.guild_id + 5)
        other = Place(here.consent, elsewhere.discord_id, here.guild_id)
        assert call(toolbox(other, name), "recall_memory_search", query="ferry")["results"] == []
        stranger = Place(here.consent, here.channel_id, 5)
        assert call(toolbox(stranger, name), "recall_memory_search", query="ferry")["results"] == []

    def test_those_who_paused_or_withdrew_are_not_found(self, said, name):
        reader = opted_in("ben")
        tools = toolbox(self.here(reader), name)
        assert call(tools, "recall_memory_search", query="ferry")["results"]
        consent.withdraw(user_id=said.id, origin="member")
        assert call(tools, "recall_memory_search", query="ferry")["results"] == []


def test_both_keep_the_same_rows(where):
    flat, letta = Toolbox(where, provider("flat")), Toolbox(where, provider("letta"))
    call(flat, "archival_memory_insert", content="one", tags=["t"])
    call(letta, "archival_memory_insert", content="two")
    call(letta, "core_memory_append", block="human", content="likes tea")
    assert [line.split(": ", 1)[1] for line in provider("flat").lines(where)] == ["one [t]", "two"]
    for tools in (flat, letta):
        assert {hit["text"] for hit in call(tools, "archival_memory_search", query="one")["results"]} >= {
            "one"
        }
    assert provider("flat").blocks(where) == provider("letta").blocks(where)
