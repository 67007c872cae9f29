"""Erasing a part: what was said in one server, one channel, a span of time, or one message goes, and everything else stays."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memory import blocks, capture, consent, erasure, outbox
from memory.blocks import Place, archive
from memory.erasure import Part
from memory.errors import InvalidInput, NotFound, StaleEpoch
from memory.models import (
    ArchivalEntry,
    ErasedRange,
    ErasureRequest,
    Fact,
    GuildMember,
    Member,
    Message,
    OutboxEntry,
    Reply,
    ReplyContext,
    ReplyMemory,
)
from memory.pseudonyms import subject_hash
from memory.types import ChannelInfo, GuildInfo
from tests.factories import START, incoming, person
from tests.memory.memory_support import (
    files_with,
    found_by_words,
    message,
    opted_in,
    say,
    vector,
    work,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("receipts")]

HARBOUR = GuildInfo(1_300_000_000_000_000_001, "Harbour")
VILLAGE = GuildInfo(1_300_000_000_000_000_051, "Village")
QUAY = ChannelInfo(1_300_000_000_000_000_002, "quay")
PIER = ChannelInfo(1_300_000_000_000_000_003, "pier")
SQUARE = ChannelInfo(1_300_000_000_000_000_052, "square")
STEPS = ChannelInfo(1_300_000_000_000_000_004, "steps", parent=QUAY)
BOT = person("musebot", is_bot=True)


def erase(someone, **narrow):
    return erasure.run(erasure.request(user_id=someone.id, origin="admin", part=Part(**narrow)).id)


def left():
    return sorted(Message.objects.values_list("text", flat=True))


def settle(ada):
    """Something of hers everywhere, and of somebody else beside it."""
    bob = opted_in("bob")
    for n, (guild, channel) in enumerate(
        [(HARBOUR, QUAY), (HARBOUR, PIER), (HARBOUR, STEPS), (VILLAGE, SQUARE)]
    ):
        at = START + timedelta(days=n)
        say(ada, f"quixotarium {channel.name}", guild=guild, channel=channel, sent_at=at)
        say(bob, f"barnacle {channel.name}", guild=guild, channel=channel, sent_at=at)
    work()
    return bob


def test_a_server_goes_down_to_the_bytes_and_the_consent_stays(receipts):
    ada = opted_in("ada")
    settle(ada)
    key = Message.objects.get(text="quixotarium quay").key
    floats = vector(key).tobytes()[:48]
    before = erasure.preview(ada.id, part=Part(guild_id=HARBOUR.id))

    done = erase(ada, guild_id=HARBOUR.id)

    assert (done.state, done.stage, done.remains, done.user_id) == ("done", "", {}, None)
    assert left() == [
        *(f"barnacle {name}" for name in ("pier", "quay", "square", "steps")),
        "quixotarium square",
    ]
    assert before["memories"] == done.counts["memories"] == done.done == 3
    for needle in (b"quixotarium quay", b"quixotarium pier", b"quixotarium steps", floats):
        assert files_with(needle) == []
    assert found_by_words("quixotarium") == [Message.objects.get(text="quixotarium square").key]
    assert consent.find(ada.id) is not None and Member.objects.get(user_id=ada.id).message_count == 1
    assert list(GuildMember.objects.filter(member_id=ada.id).values_list("guild__discord_id", flat=True)) == [
        VILLAGE.id
    ]
    receipt = json.loads(receipts.read_text())
    assert receipt["part"].keys() == {"guild_id", "to"} and receipt["part"]["guild_id"] == str(HARBOUR.id)
    assert str(ada.id) not in receipts.read_text()


def test_a_channel_goes_with_its_threads():
    ada = opted_in("ada")
    settle(ada)
    done = erase(ada, channel_id=QUAY.id)
    assert done.guild_id == HARBOUR.id and done.state == "done"
    assert [text for text in left() if text.startswith("quix")] == ["quixotarium pier", "quixotarium square"]


def test_a_span_of_time_goes_everywhere():
    ada = opted_in("ada")
    settle(ada)
    erase(ada, since=START + timedelta(days=1), until=START + timedelta(days=3))
    assert [text for text in left() if text.startswith("quix")] == ["quixotarium quay", "quixotarium square"]


def test_one_memory_goes_with_its_answer_and_not_with_others():
    ada = opted_in("ada")
    question = incoming("where is the quixotarium?", author=ada)
    key = capture.record_message(question)
    answer = incoming(
        "The quixotarium is shut.", author=BOT, reply_to=question.id, sent_at=START + timedelta(seconds=5)
    )
    capture.record_reply(answer, owner_id=ada.id)
    say(ada, "kept")
    assert erasure.preview(ada.id, part=Part(message_key=key))["answers"] == 1
    done = erase(ada, message_key=key)
    assert (done.state, done.message_id, done.counts["memories"]) == ("done", question.id, 2)
    assert left() == ["kept"] and files_with(b"quixotarium") == []


def test_the_last_answer_of_a_span_goes_with_its_question():
    ada = opted_in("ada")
    question = incoming("where is the quixotarium?", author=ada)
    capture.record_message(question)
    late = START + timedelta(seconds=30)
    capture.record_reply(
        incoming("It is shut.", author=BOT, reply_to=question.id, sent_at=late), owner_id=ada.id
    )
    part = Part(until=START + timedelta(seconds=10))
    assert erasure.preview(ada.id, part=part)["answers"] == 1
    assert erase(ada, until=part.until).done == 2 and left() == []


@pytest.mark.parametrize("seed", range(12))
def test_any_range_takes_exactly_what_is_in_it_and_the_preview_counts_it(seed):
    chance = random.Random(seed)
    ada, bob = opted_in("ada"), opted_in("bob")
    places = [(HARBOUR, QUAY), (HARBOUR, PIER), (HARBOUR, STEPS), (VILLAGE, SQUARE)]
    said = []
    for n in range(40):
        guild, channel = chance.choice(places)
        minutes = chance.randrange(100)
        key = say(
            chance.choice([ada, bob]),
            f"message {n}",
            guild=guild,
            channel=channel,
            sent_at=START + timedelta(minutes=minutes),
        )
        said.append((key, guild.id, channel.id, minutes))
    channel = chance.choice([None, QUAY.id, PIER.id, SQUARE.id])
    guild = chance.choice([None, HARBOUR.id, VILLAGE.id]) if channel is None else None
    first, last = sorted(chance.sample(range(101), 2))
    narrow = {
        "guild_id": guild,
        "channel_id": channel,
        "since": chance.choice([None, START + timedelta(minutes=first)]),
        "until": chance.choice([None, START + timedelta(minutes=last)]),
    }
    if not any(narrow.values()):
        narrow["since"] = START
    begin = first if narrow["since"] and narrow["since"] != START else 0
    end = last if narrow["until"] else 101
    channels = {QUAY.id: {QUAY.id, STEPS.id}}.get(channel, {channel})
    owners = dict(Message.objects.values_list("key", "member_id"))
    expected = {
        key
        for key, in_guild, in_channel, minutes in said
        if owners[key] == ada.id
        and guild in (None, in_guild)
        and (channel is None or in_channel in channels)
        and begin <= minutes < end
    }
    assert erasure.preview(ada.id, part=Part(**narrow))["memories"] == len(expected)
    done = erase(ada, **narrow)
    assert (
        done.state == "done" and set(owners) - set(Message.objects.values_list("key", flat=True)) == expected
    )


def test_what_leaned_on_the_part_goes_and_what_leaned_on_the_rest_stays():
    ada, bob = opted_in("ada"), opted_in("bob")
    gone = say(ada, "the key is under the mat", channel=PIER)
    stays = say(ada, "it rains")
    answers = [
        capture.record_reply(incoming(text, author=BOT), owner_id=bob.id)
        for text in ("under the mat", "it was said above", "rain")
    ]
    traces = [Reply.objects.create(asker_id=bob.id, answer_id=key, state="done") for key in answers]
    ReplyMemory.objects.create(reply=traces[0], message_id=gone, rank=1, score=1.0)
    ReplyContext.objects.create(reply=traces[1], message_id=gone)
    ReplyMemory.objects.create(reply=traces[2], message_id=stays, rank=1, score=1.0)
    assert erasure.preview(ada.id, part=Part(channel_id=PIER.id))["answers_to_others"] == 2
    erase(ada, channel_id=PIER.id)
    assert left() == ["it rains", "rain"]
    assert list(Reply.objects.values_list("id", flat=True)) == [traces[2].id]


def test_facts_notes_and_lines_of_blocks_go_with_their_message():
    ada = opted_in("ada")
    key = say(ada, "I keep a zebrafinch", channel=PIER)
    kept_key = say(ada, "I keep bees")
    for source, text in ((key, "Keeps a zebrafinch"), (kept_key, "Keeps bees")):
        row = message(source)
        Fact.objects.create(
            member_id=ada.id,
            namespace="ai.memory",
            text=text,
            normal=text,
            source="auto",
            evidence=row,
            said_at=START,
        )
        where = Place(consent.find(ada.id), row.channel_id, HARBOUR.id, message_key=source)
        blocks.append(where.human(), text, actor=where.actor("model"))
        archive.insert(where, text)
    erase(ada, channel_id=PIER.id)
    assert list(Fact.objects.values_list("text", flat=True)) == ["Keeps bees"]
    assert list(ArchivalEntry.objects.values_list("text", flat=True)) == ["Keeps bees"]
    assert blocks.get(blocks.human(ada.id)).value == "Keeps bees"
    assert files_with(b"zebrafinch") == []


def test_a_model_that_is_at_work_writes_nothing_of_it_any_more():
    ada = opted_in("ada")
    say(ada, "hello", channel=PIER)
    before = consent.find(ada.id)
    erase(ada, channel_id=PIER.id)
    where = Place(before, QUAY.id, HARBOUR.id)
    with pytest.raises(StaleEpoch):
        archive.insert(where, "what the model made of it")
    assert not ArchivalEntry.objects.exists()


def test_work_on_what_is_left_is_done_under_the_new_epoch():
    ada = opted_in("ada")
    say(ada, "gone", channel=PIER)
    key = say(ada, "stays")
    entry = outbox.claim("embed", 10)
    erase(ada, channel_id=PIER.id)
    assert list(OutboxEntry.objects.values_list("subject", "epoch", "state")) == [(key, 1, "queued")]
    outbox.finish(entry)  # by the worker whose lease it was
    work()
    assert message(key).embedding == "done"


@pytest.mark.parametrize("source", ["live", "backfill", "catch-up", "import"])
def test_nothing_brings_it_back(source):
    ada, bob = opted_in("ada"), opted_in("bob")
    old = incoming("quixotarium", author=ada, channel=PIER)
    capture.record_message(old)
    erase(ada, channel_id=PIER.id)
    answer = incoming("It is shut.", author=BOT, channel=PIER, reply_to=old.id, sent_at=timezone.now())
    thread = ChannelInfo(1_300_000_000_000_000_009, "below", parent=PIER)
    again = [
        old,
        incoming("never seen before", author=ada, channel=PIER, sent_at=START - timedelta(days=9)),
        incoming("in a thread of it", author=ada, channel=thread),
        incoming("elsewhere", author=ada),
        incoming("of somebody else", author=bob, channel=PIER),
        incoming("since then", author=ada, channel=PIER, sent_at=timezone.now()),
    ]
    result = capture.record_messages(again, source=source)
    assert result.skipped == {"erased": 3}
    assert left() == ["elsewhere", "of somebody else", "since then"]
    assert not capture.edit_message(discord_id=old.id, text="quixotarium again", edited_at=timezone.now())
    assert capture.record_reply(answer, owner_id=ada.id) is None
    assert len(left()) == 3


def test_one_memory_does_not_come_back_either():
    ada = opted_in("ada")
    old, other = incoming("quixotarium", author=ada), incoming("kept", author=ada)
    key = capture.record_message(old)
    erase(ada, message_key=key)
    assert capture.record_messages([old, other], source="backfill").skipped == {"erased": 1}
    assert left() == ["kept"]


def test_the_range_names_nobody():
    ada = opted_in("ada")
    settle(ada)
    erase(ada, guild_id=HARBOUR.id)
    row = ErasedRange.objects.get()
    assert row.subject == subject_hash(ada.id) and row.guild_id == HARBOUR.id and row.until <= timezone.now()
    assert erasure.verify(ada.id).get("memory_erasedrange") is None


def test_it_goes_on_in_another_process_after_a_kill(tmp_path):
    ada = opted_in("ada")
    for n in range(300):
        say(ada, f"quixotarium {n}", channel=PIER)
    say(ada, "kept")
    request = erasure.request(user_id=ada.id, origin="admin", part=Part(channel_id=PIER.id))
    script = f"""
import os, signal
import django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = {str(connection.settings_dict["NAME"])!r}
from memory import erasure, removal
from memory.erasure import steps
real, calls = removal.remove, []
def remove(keys, **values):
    count = real(keys, **values)
    calls.append(count)
    if len(calls) == 2:  # in the middle of a transaction
        os.kill(os.getpid(), signal.SIGKILL)
    return count
removal.remove = remove
import memory.pacing
memory.pacing.FIRST = 50
erasure.run({str(request.id)!r})
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    stopped = ErasureRequest.objects.get()
    assert 0 < stopped.done < 300 and Message.objects.count() == 301 - stopped.done
    work("erase")
    stopped.refresh_from_db()
    assert (stopped.state, stopped.done, stopped.sample, left()) == ("done", 300, [], ["kept"])
    assert files_with(b"quixotarium") == [] and not OutboxEntry.objects.filter(kind="erase").exists()


def test_the_re_scan_of_a_part_finds_what_is_left(monkeypatch):
    ada = opted_in("ada")
    say(ada, "quixotarium", channel=PIER)
    from memory.erasure import partial

    monkeypatch.setattr(partial, "STEPS", (partial.facts,))
    failed = erase(ada, channel_id=PIER.id)
    assert (failed.state, failed.remains) == ("failed", {"memory_message": 1})
    monkeypatch.undo()
    assert erasure.run(failed.id).state == "done"


def test_the_byte_search_of_a_part_looks_for_its_records():
    ada = opted_in("ada")
    say(ada, "quixotarium", channel=PIER)
    request = erasure.request(user_id=ada.id, origin="admin", part=Part(channel_id=PIER.id))
    from memory.erasure import partial

    needles = partial.needles(partial.sample(ada.id, Part.of(request)))
    assert needles and all(files_with(needle) for needle in needles)
    erasure.run(request.id)
    assert not files_with(*needles)


@pytest.mark.parametrize(
    ("narrow", "error"),
    [
        ({}, InvalidInput),
        ({"since": START, "until": START}, InvalidInput),
        ({"guild_id": 1}, NotFound),
        ({"channel_id": 1}, NotFound),
        ({"guild_id": VILLAGE.id, "channel_id": QUAY.id}, InvalidInput),
        ({"message_key": 1}, NotFound),
        ({"message_key": 1, "guild_id": HARBOUR.id}, InvalidInput),
    ],
)
def test_what_is_no_part_is_refused(narrow, error):
    ada = opted_in("ada")
    settle(ada)
    with pytest.raises(error):
        erasure.request(user_id=ada.id, origin="admin", part=Part(**narrow))
    assert not ErasureRequest.objects.exists() and consent.find(ada.id).epoch == 0


def test_one_memory_of_somebody_else_is_none_of_theirs():
    ada, bob = opted_in("ada"), opted_in("bob")
    key = say(bob, "hello")
    with pytest.raises(NotFound):
        erasure.request(user_id=ada.id, origin="admin", part=Part(message_key=key))


def test_forgetting_everything_covers_the_parts_that_are_under_way():
    ada = opted_in("ada")
    settle(ada)
    part = erasure.request(user_id=ada.id, origin="admin", part=Part(channel_id=PIER.id))
    done = erasure.run(erasure.request(user_id=ada.id, origin="member").id)
    part.refresh_from_db()
    assert (done.state, done.remains) == ("done", {})
    assert (part.state, part.user_id, part.sample) == ("closed", None, [])
    assert erasure.run(part.id).state == "closed"


def test_entries_of_an_index_without_a_message_are_no_hindrance():
    ada, bob = opted_in("ada"), opted_in("bob")
    say(bob, "a fault removes this row alone")
    say(ada, "on the pier", channel=PIER)
    work()
    Message.objects.filter(member_id=bob.id).delete()
    found = erase(ada, channel_id=PIER.id)
    assert (found.state, found.remains, found.counts["strays"]) == ("done", {}, 2)
