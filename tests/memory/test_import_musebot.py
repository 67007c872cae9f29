"""An existing memory of Musebot, early or late, with its log: what comes in, what is put aside, and that twice is once."""

from __future__ import annotations

import hashlib
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from memory import capture, consent, retrieval
from memory.capture.importing import import_musebot, imported_files
from memory.conf import get_config
from memory.errors import InvalidInput
from memory.models import Channel, ConsentEvent, Guild, Member, Message, OutboxEntry
from memory.types import ChannelInfo, GuildInfo, Person, RecallQuery
from tests.factories import incoming
from tests.memory.memory_support import erase, work
from tests.memory.musebot_support import ADA, BEN, BOT, CHANNEL, DM, SERVER, THREAD, MusebotDatabase

pytestmark = pytest.mark.django_db


@pytest.fixture
def old(tmp_path):
    database = MusebotDatabase(tmp_path / "memory.db")
    database.consent(ADA)
    return database


def texts():
    return sorted(Message.objects.values_list("text", flat=True))


def only(text):
    return Message.objects.get(text=text)


def test_a_message_comes_in_with_all_that_was_known_of_it(old):
    own = old.say(
        f"<@{BOT}> hello <@{BEN}>, see https://example.org/bees",
        mentions={
            "users": [
                {"id": str(BEN), "username": "ben", "displayName": "Ben", "isBot": False},
                {"id": str(BOT), "username": "musebot", "displayName": "Musebot", "isBot": True},
            ],
            "roles": [{"id": "12", "name": "Pilots"}],
            "everyone": True,
        },
        attachments=[
            {
                "filename": "b.png",
                "url": "https://cdn/b.png",
                "type": "image",
                "interpretation": "A red boat",
            },
            {
                "filename": "Bees",
                "url": "https://example.org/bees",
                "type": "web",
                "interpretation": "All on bees",
            },
        ],
    )
    old.say("well said", author=BOT, owner=ADA, live=True)
    report = import_musebot(old.done())
    assert (report.messages, report.replies, report.interpretations) == (1, 1, 2) and not report.left_out
    row = Message.objects.get(discord_id=own)
    assert row.text == "hello @somebody, see https://example.org/bees" and row.captions == "A red boat"
    assert (row.member_id, row.author_id, row.author_name, row.source) == (ADA, ADA, "Ada", "import")
    assert row.sent_at == datetime(2025, 5, 6, 7, 8, 9, 10_000, UTC)
    assert (row.guild.discord_id, row.guild.name, row.channel.discord_id) == (SERVER, "Harbour", CHANNEL)
    assert (row.channel.name, row.channel.topic) == ("general", "All of it")
    record = row.content
    assert record["roles"] == [{"id": "11", "name": "Keeper"}] and record["mentions"]["everyone"] is True
    assert [one["id"] for one in record["mentions"]["users"]] == [str(BOT)]
    assert [one["interpretation"] for one in record["attachments"]] == ["A red boat", "All on bees"]
    assert not OutboxEntry.objects.filter(kind="enrich").exists()
    work()
    assert not Message.objects.exclude(embedding="done").exists()
    found = retrieval.recall(RecallQuery(text="red boat", guild_id=SERVER))
    assert [one.key for one in found.memories][:1] == [row.key]


def test_consents_are_carried_over_with_their_time(old):
    old.consent(BEN, complete=0)
    old.say("I keep bees")
    report = import_musebot(old.done())
    assert (report.consents, report.incomplete) == (2, 1)
    ada = Member.objects.get(user_id=ADA)
    assert (ada.origin, ada.notice_version, ada.username, ada.display_name) == (
        "import",
        "musebot",
        "ada",
        "Ada",
    )
    assert ada.consented_at == datetime(2025, 3, 4, 5, 6, 7, 89_000, UTC)
    event = ConsentEvent.objects.order_by("id").first()
    assert (event.action, event.origin, event.notice_version, event.at) == (
        "given",
        "import",
        "musebot",
        ada.consented_at,
    )


def test_rows_of_people_without_a_consent_are_put_aside(old):
    old.say("I keep bees"), old.say("I keep newts", author=BEN)
    old.say("newts!", author=BOT, owner=BEN, live=True)
    report = import_musebot(old.done())
    assert texts() == ["I keep bees"] and report.left_out == {"no_consent": 2}
    assert not Member.objects.filter(user_id=BEN).exists()
    assert not Message.objects.filter(content__icontains="newts").exists()


def test_who_withdrew_paused_or_is_being_erased_here_stays_out(old, django_user_model):
    old.say("I keep bees")
    path = old.done()
    consent.give(person=Person(ADA, "ada"), origin="discord")
    Member.objects.update(paused_at=datetime.now(UTC))
    assert import_musebot(path).left_out == {"paused": 1}
    Member.objects.update(paused_at=None)
    consent.withdraw(user_id=ADA, origin="member")
    assert import_musebot(path).left_out == {"erasing": 1}
    erase(ADA)
    report = import_musebot(path)
    assert report.left_out == {"withdrew": 1} and report.refused_consents == {"withdrew": 1}
    assert not Message.objects.exists() and not Member.objects.exists()


def test_the_bots_live_replies_belong_to_their_owner_and_backfilled_ones_are_put_aside(old):
    old.consent(BEN)
    old.say("what do bees eat?")
    old.say("They eat pollen", author=BOT, owner=ADA, live=True)
    old.say("They eat pollen", author=BOT, owner=BEN)
    old.say("Newts eat worms", author=BOT, owner=ADA)
    report = import_musebot(old.done())
    assert texts() == ["They eat pollen", "what do bees eat?"]
    assert report.left_out == {"reply_of_nobody": 2}
    reply = only("They eat pollen")
    assert (reply.member_id, reply.author_id, reply.is_bot) == (ADA, BOT, True)


def test_a_stored_trigger_tells_whose_a_backfilled_reply_is(old):
    old.consent(BEN)
    asked = old.say("what do newts eat?", author=BEN)
    unknown = old.say("and snails?", author=BEN, columns={"userId": "3", "discordMessageId": "3"})
    old.say("Newts eat worms", author=BOT, owner=ADA, reference={"messageId": str(asked)})
    old.say("Cabbage", author=BOT, owner=ADA, replyTo=str(unknown))
    # The same reply as it was stored when it was given.
    old.say("Bees eat pollen", author=BOT, owner=BEN, live=True)
    old.say("Bees eat pollen", author=BOT, owner=ADA, reference={"messageId": str(asked)})
    report = import_musebot(old.done())
    assert only("Newts eat worms").member_id == BEN and only("Bees eat pollen").discord_id > 2**62
    assert only("Newts eat worms").reply_to == asked
    assert report.left_out == {"another_author": 1, "reply_of_nobody": 1, "duplicate": 1}


def test_a_trigger_that_is_stored_here_tells_it_as_well(old):
    consent.give(person=Person(ADA, "ada"), origin="discord")
    key = capture.record_message(
        incoming(
            "what do newts eat?",
            author=Person(ADA, "ada"),
            guild=GuildInfo(SERVER),
            channel=ChannelInfo(CHANNEL),
        )
    )
    asked = Message.objects.get(key=key).discord_id
    old.say("Newts eat worms", author=BOT, owner=BEN, reference={"messageId": str(asked)})
    assert import_musebot(old.done()).replies == 1
    assert only("Newts eat worms").member_id == ADA


def test_the_owner_of_a_members_message_is_its_author(old):
    old.say("of somebody else", author=BEN, owner=ADA)
    assert import_musebot(old.done()).left_out == {"another_author": 1}


def test_threads_private_conversations_and_servers(old):
    old.say(
        "in the thread",
        channel={"id": str(THREAD), "name": "trip", "topic": None},
        thread={"id": str(THREAD), "name": "trip", "parentId": str(CHANNEL)},
    )
    old.say("in private", server=None, channel={"id": str(DM), "name": None, "topic": None})
    old.say("nowhere", columns={"serverId": None})
    old.say("elsewhere", server=SERVER + 50, channel={"id": "800000000000000077", "name": "other"})
    report = import_musebot(old.done())
    thread = Channel.objects.get(discord_id=THREAD)
    assert (thread.parent_id, thread.name, thread.kind) == (CHANNEL, "trip", "private_thread")
    assert only("in the thread").content["thread"] == {
        "id": str(THREAD),
        "name": "trip",
        "parentId": str(CHANNEL),
    }
    private = only("in private").guild
    assert (private.discord_id, private.kind) == (DM, "dm") and report.private == 1
    assert report.left_out == {"unreadable": 1} and "server" in report.unreadable[0]
    assert report.servers == {SERVER, SERVER + 50}
    assert Guild.objects.filter(kind="guild").count() == 2


def test_a_thread_that_discord_says_is_public_stays_so(old):
    capture.remember_guild(GuildInfo(SERVER), [ChannelInfo(THREAD, "trip", "public_thread")])
    old.say(
        "in the thread",
        channel={"id": str(THREAD), "name": "trip"},
        thread={"id": str(THREAD), "name": "trip", "parentId": str(CHANNEL)},
    )
    import_musebot(old.done())
    assert Channel.objects.get(discord_id=THREAD).kind == "public_thread"


def test_an_early_file_without_ids_and_attachments(tmp_path):
    old = MusebotDatabase(tmp_path / "memory.db", early=True)
    old.consent(ADA)
    old.say("I keep bees"), old.say("Lovely", author=BOT, owner=ADA)
    path = old.done()
    first, second = import_musebot(path), import_musebot(path)
    assert (first.messages, first.replies, first.incomplete) == (1, 1, 1)
    assert second.stored == 0 and second.left_out == {"duplicate": 2}
    assert texts() == ["I keep bees", "Lovely"]


def test_what_an_early_file_holds_under_no_id_is_not_stored_again_under_one(tmp_path):
    early = MusebotDatabase(tmp_path / "early.db", early=True)
    early.consent(ADA)
    early.say("I keep bees")
    late = MusebotDatabase(tmp_path / "late.db")
    late.consent(ADA)
    late.say("I keep bees")
    late.say("I keep bees", at="2025-05-07T00:00:00Z")
    import_musebot(early.done())
    assert import_musebot(late.done()).left_out == {"duplicate": 1}
    assert texts() == ["I keep bees", "I keep bees"]


def test_what_was_captured_here_already_is_a_duplicate(old):
    own = old.say("I keep bees")
    consent.give(person=Person(ADA, "ada"), origin="discord")
    capture.record_message(incoming("I keep bees", author=Person(ADA, "ada"), id=own))
    report = import_musebot(old.done())
    assert report.left_out == {"duplicate": 1} and report.known_consents == 1
    assert Member.objects.get().notice_version != "musebot"


def test_the_log_is_read_and_nothing_of_the_original_changes(tmp_path):
    old = MusebotDatabase(tmp_path / "memory.db").with_log()
    old.consent(ADA)
    old.say("only in the log")
    path = old.done_with_log()
    before = _sums(tmp_path)
    assert set(before) == {"memory.db", "memory.db-wal"} and before["memory.db-wal"][0] > 0
    assert import_musebot(path, dry_run=True).stored == 1
    assert import_musebot(path).stored == 1
    assert _sums(tmp_path) == before and texts() == ["only in the log"]
    assert not (get_config().home / "imports").exists()


def test_an_import_that_is_killed_leaves_no_copy(tmp_path):
    old = MusebotDatabase(tmp_path / "memory.db").with_log()
    old.consent(ADA)
    for n in range(600):
        old.say(f"message {n}")
    seen = []

    def look(_):
        seen.extend(path for path in (get_config().home / "imports").rglob("*") if path.is_file())

    assert import_musebot(old.done_with_log(), progress=look).stored == 600 and seen == []


def _sums(folder: Path) -> dict[str, tuple[int, str, int]]:
    return {
        one.name: (one.stat().st_size, hashlib.sha256(one.read_bytes()).hexdigest(), one.stat().st_mtime_ns)
        for one in folder.iterdir()
    }


@pytest.mark.parametrize(
    "spoil",
    [
        {"columns": {"content": "{"}},
        {"columns": {"content": None}},
        {"columns": {"content": "[1]"}},
        {"userId": None},
        {"channel": None},
        {"columns": {"userId": "nobody"}},
        {"columns": {"discordMessageId": None}, "messageId": None, "datetime": "yesterday"},
        {"server": None, "columns": {"serverId": "x"}},
    ],
)
def test_rows_that_cannot_be_read_are_counted_and_the_others_come_in(old, spoil):
    old.say("spoiled", **spoil)
    old.say("sound")
    report = import_musebot(old.done())
    assert report.left_out == {"unreadable": 1} and len(report.unreadable) == 1 and texts() == ["sound"]


def test_a_time_that_is_missing_is_that_of_discords_id(old):
    own = old.say("when?", datetime=None)
    import_musebot(old.done())
    assert only("when?").sent_at.timestamp() * 1000 == (own >> 22) + 1_420_070_400_000


def test_many_rows_come_in_pages(old):
    for n in range(1203):
        old.say(f"message {n}")
    seen = []
    report = import_musebot(old.done(), progress=lambda now: seen.append((now.read, now.stored)))
    assert seen == [(500, 500), (1000, 1000), (1203, 1203)] and report.total == 1203


def test_a_dry_run_says_the_same_and_writes_nothing(old):
    old.consent(BEN)
    asked = old.say("I keep bees")
    old.say("  "), old.say("mine", author=BEN)
    old.say("Lovely", author=BOT, owner=ADA, live=True), old.say("Hm", author=BOT, owner=ADA)
    old.say("Quite", author=BOT, owner=BEN, reference={"messageId": str(asked)})
    old.say("no", author=BEN, owner=ADA)
    path = old.done()
    dry = import_musebot(path, dry_run=True)
    assert not Message.objects.exists() and not Member.objects.exists() and not Guild.objects.exists()
    assert imported_files() == set()
    wet = import_musebot(path)
    assert dry == wet and dry.stored == 4
    assert imported_files() == {"memory.db"}
    assert dry.left_out == {"empty": 1, "reply_of_nobody": 1, "another_author": 1}


def test_the_command(old):
    old.say("I keep bees"), old.say("newts", author=BEN)
    path, out = old.done(), io.StringIO()
    call_command("import_musebot", str(path), dry_run=True, stdout=out)
    assert "1 would be stored" in out.getvalue()
    assert "1 would be put aside: their owner had not opted in." in out.getvalue()
    out = io.StringIO()
    call_command("import_musebot", str(path), json=True, stdout=out, stderr=io.StringIO())
    told = json.loads(out.getvalue())
    assert (told["stored"], told["put_aside"]["no_consent"]["messages"]) == (1, 1)
    assert told["consents"]["carried_over"] == 1
    assert only("I keep bees").embedding == "done"


def test_what_is_no_memory_of_musebot_is_refused(tmp_path, old):
    text = tmp_path / "notes.db"
    text.write_text("not a database at all, but quite some text. " * 40)
    for path in (text, tmp_path / "missing.db", tmp_path):
        with pytest.raises(InvalidInput):
            import_musebot(path)
    old.connection.execute("CREATE TABLE django_migrations(id)")
    with pytest.raises(CommandError, match="of this program"):
        call_command("import_musebot", str(old.done()))
