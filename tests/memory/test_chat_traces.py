"""The trace of a reply: begun once, written with what the turn leaned on, without text and without whoever was erased."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core import serializers
from django.utils import timezone

from memory import chat, consent
from memory.chat import traces
from memory.errors import InvalidInput, NotFound
from memory.llm.scripted import ScriptedChatModel
from memory.models import Channel, Member, Message, Reply, ReplyMemory
from memory.types import TurnRequest
from tests.factories import ChannelFactory, MemberFactory, MessageFactory
from tests.memory.chat_support import RecallDouble, ask, recalled, use_model, use_recall

pytestmark = pytest.mark.django_db


@pytest.fixture
def channel() -> Channel:
    return ChannelFactory(name="harbour")


@pytest.fixture
def ada() -> Member:
    return MemberFactory(display_name="Ada")


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedChatModel:
    scripted = ScriptedChatModel(["At the pier."])
    use_model(monkeypatch, scripted)
    return scripted


@pytest.fixture
def remembered(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Message], RecallDouble]:
    rows = [MessageFactory(channel=channel, text=f"memory {n}", author_name="Bo") for n in range(3)]
    double = use_recall(
        monkeypatch,
        recalled(rows[0], 0.9),
        recalled(rows[1], 0.5),
        left_out=(recalled(rows[2], 0.1, injected=False, why_excluded="score"),),
        timings={"vectors": 1.5},
    )
    return rows, double


def test_one_message_is_begun_once(channel: Channel, ada: Member) -> None:
    request = ask(channel=channel, asker=ada, message_id=5)
    trace_id = chat.begin(request)
    assert trace_id is not None
    assert chat.begin(request) == trace_id
    reply = Reply.objects.get()
    assert (str(reply.id), reply.state, reply.asker_id, reply.trigger_id) == (
        trace_id,
        "pending",
        ada.user_id,
        5,
    )
    assert (reply.guild, reply.channel_id, reply.origin) == (channel.guild, channel.discord_id, "discord")
    chat.finish(trace_id, question_key=None, answer_key=None, state="done")
    assert chat.begin(request) is None


def test_begin_needs_a_message(channel: Channel) -> None:
    with pytest.raises(InvalidInput):
        chat.begin(ask(channel=channel))


def test_somebody_who_has_not_opted_in_is_not_in_the_trace(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_recall(monkeypatch)
    request = ask("marzipan", channel=channel, message_id=5)
    trace_id = chat.begin(request)
    list(chat.run_turn(request, trace_id=trace_id))
    reply = Reply.objects.get()
    assert reply.asker_id is None
    stored = serializers.serialize("json", [reply])
    assert str(request.asker.id) not in stored and "marzipan" not in stored and "Stranger" not in stored


def test_a_turn_fills_the_trace_and_finish_ends_it(
    channel: Channel, ada: Member, remembered: tuple[list[Message], RecallDouble]
) -> None:
    rows, _ = remembered
    request = ask(channel=channel, asker=ada, message_id=5)
    trace_id = chat.begin(request)
    assert trace_id is not None
    *_, result = chat.run_turn(request, trace_id=trace_id)
    reply = Reply.objects.get()
    assert (reply.state, reply.kind, reply.model, reply.host) == ("pending", "model", "scripted", "scripted")
    assert reply.prompt_tokens > 0 and reply.reply_tokens > 0
    assert {"recall", "recall_vectors", "prompt", "first_token", "model", "total"} <= set(reply.timings)
    uses = ReplyMemory.objects.order_by("rank").values_list("message_id", "score", "injected", "why_excluded")
    assert list(uses) == [
        (rows[0].key, 0.9, True, ""),
        (rows[1].key, 0.5, True, ""),
        (rows[2].key, 0.1, False, "score"),
    ]
    assert [Message.objects.get(key=row.key).times_used for row in rows] == [1, 1, 0]
    assert Message.objects.get(key=rows[0].key).last_used_at is not None
    question, answer = (
        MessageFactory(channel=channel, member=ada),
        MessageFactory(channel=channel, member=ada),
    )
    chat.finish(trace_id, question_key=question.key, answer_key=answer.key, state="done")
    reply.refresh_from_db()
    assert (reply.state, reply.question, reply.answer) == ("done", question, answer)
    assert result.trace_id == trace_id


def test_finish_leaves_out_messages_that_are_gone_and_knows_two_ends(channel: Channel, ada: Member) -> None:
    trace_id = chat.begin(ask(channel=channel, asker=ada, message_id=5))
    assert trace_id is not None
    with pytest.raises(InvalidInput):
        chat.finish(trace_id, question_key=None, answer_key=None, state="pending")
    chat.finish(trace_id, question_key=123456, answer_key=None, state="failed")
    reply = Reply.objects.get()
    assert (reply.state, reply.question) == ("failed", None)


def test_a_turn_that_was_not_begun_is_done_with_its_answer(
    channel: Channel, ada: Member, remembered: tuple[list[Message], RecallDouble]
) -> None:
    result = chat.answer(ask(channel=channel, asker=ada, operator=True))
    assert (Reply.objects.get().state, Reply.objects.get().origin) == ("done", "dashboard")
    assert str(Reply.objects.get().id) == result.trace_id
    other = chat.answer(ask(channel=channel, asker=ada, operator=True, origin="api"))
    assert Reply.objects.get(id=other.trace_id).origin == "api"


def test_a_turn_that_is_done_again_counts_its_memories_once(
    channel: Channel, ada: Member, remembered: tuple[list[Message], RecallDouble]
) -> None:
    rows, _ = remembered
    request = ask(channel=channel, asker=ada, message_id=5)
    for _ in range(2):
        list(chat.run_turn(request, trace_id=chat.begin(request)))
    assert Message.objects.get(key=rows[0].key).times_used == 1
    assert ReplyMemory.objects.count() == 3


def test_memories_that_were_erased_meanwhile_are_skipped(
    channel: Channel, ada: Member, remembered: tuple[list[Message], RecallDouble]
) -> None:
    rows, double = remembered

    def erase() -> None:
        Message.objects.filter(key=rows[0].key).delete()
        Member.objects.filter(user_id=rows[2].member_id).update(withdrawn_at=timezone.now())

    double.meanwhile = erase
    result = chat.answer(ask(channel=channel, asker=ada))
    assert result.kind == "model"
    assert list(ReplyMemory.objects.values_list("message_id", flat=True)) == [rows[1].key]


@pytest.mark.parametrize("begun", [True, False])
def test_an_asker_who_was_erased_meanwhile_is_not_in_the_trace(
    begun: bool, channel: Channel, ada: Member, remembered: tuple[list[Message], RecallDouble]
) -> None:
    _, double = remembered
    double.meanwhile = lambda: consent.withdraw(user_id=ada.user_id, origin="test")
    request = ask(channel=channel, asker=ada, message_id=5)
    list(chat.run_turn(request, trace_id=chat.begin(request) if begun else None))
    assert Reply.objects.get().asker_id is None
    assert Reply.objects.get().kind == "model"


def test_a_trace_that_was_erased_meanwhile_stays_gone(
    channel: Channel, ada: Member, remembered: tuple[list[Message], RecallDouble]
) -> None:
    _, double = remembered
    double.meanwhile = lambda: Reply.objects.all().delete()
    request = ask(channel=channel, asker=ada, message_id=5)
    *_, result = chat.run_turn(request, trace_id=chat.begin(request))
    assert result.kind == "model"  # type: ignore[union-attr]
    assert not Reply.objects.exists() and not ReplyMemory.objects.exists()


def test_at_most_some_of_what_was_left_out_are_kept(
    channel: Channel, ada: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [MessageFactory(channel=channel) for _ in range(40)]
    use_recall(
        monkeypatch, left_out=tuple(recalled(row, injected=False, why_excluded="top_k") for row in rows)
    )
    chat.answer(ask(channel=channel, asker=ada))
    assert ReplyMemory.objects.filter(injected=False).count() == traces.MAX_LEFT_OUT


def test_unfinished_replies_are_found_oldest_first(channel: Channel, ada: Member) -> None:
    ids = [chat.begin(ask(channel=channel, asker=ada, message_id=n)) for n in (5, 6, 7, 8)]
    assert ids[1] is not None
    chat.finish(ids[1], question_key=None, answer_key=None, state="done")
    Reply.objects.filter(trigger_id=8).update(created_at=timezone.now() - timedelta(hours=3))
    found = chat.unfinished(within=timedelta(hours=1))
    assert [(entry.trace_id, entry.trigger_id) for entry in found] == [(ids[0], 5), (ids[2], 7)]
    assert (found[0].channel_id, found[0].guild_id) == (channel.discord_id, channel.guild.discord_id)


def test_the_trace_shows_the_words_of_today(
    channel: Channel, ada: Member, remembered: tuple[list[Message], RecallDouble]
) -> None:
    rows, _ = remembered
    result = chat.answer(ask(channel=channel, asker=ada))
    Message.objects.filter(key=rows[0].key).update(text="edited since")
    shown = json.loads(json.dumps(chat.trace(result.trace_id)))
    assert shown["memories"][0]["line"] == f"[{rows[0].sent_at.day} {rows[0].sent_at:%B %Y} Bo] edited since"
    assert [memory["injected"] for memory in shown["memories"]] == [True, True, False]
    assert shown["memories"][2]["why_excluded"] == "score"
    assert shown["memories"][0]["scores"] == {"cosine": 0.9}
    assert (shown["asker_id"], shown["channel_name"]) == (str(ada.user_id), "harbour")
    assert shown["timings"]["total"] >= 0 and shown["question"] is None
    Member.objects.filter(user_id=rows[0].member_id).update(withdrawn_at=timezone.now())
    assert len(chat.trace(result.trace_id)["memories"]) == 2


@pytest.mark.parametrize("trace_id", ["nonsense", "00000000-0000-0000-0000-000000000000"])
def test_an_unknown_trace_is_not_found(trace_id: str) -> None:
    with pytest.raises(NotFound):
        chat.trace(trace_id)


def test_no_column_of_a_reply_holds_text(
    channel: Channel, ada: Member, model: ScriptedChatModel, remembered: tuple[list[Message], RecallDouble]
) -> None:
    request: TurnRequest = ask("marzipan?", channel=channel, asker=ada)
    chat.answer(request)
    rows: list[Any] = [*Reply.objects.all(), *ReplyMemory.objects.all()]
    stored = serializers.serialize("json", rows)
    assert not any(word in stored for word in ("marzipan", "pier", "memory 0"))
