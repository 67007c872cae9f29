"""Extraction: after the reply, of consenting members' own words, in a form that is checked again, and never over an erasure."""

import json
from datetime import timedelta

import pytest

from memory import backends, capture, chat, consent, facts, tasks
from memory.conf import AutoExtract
from memory.errors import ConfigurationError, ConsentMissing, ModelRejected, ModelUnavailable
from memory.llm.scripted import ScriptedChatModel, ScriptedReply
from memory.models import Fact, Member, Message, OutboxEntry, Reply
from memory.types import ChannelInfo, GuildInfo, TurnRequest
from tests.factories import START, incoming, person, snowflake
from tests.memory.facts_support import answering, states, tell, use_facts
from tests.memory.memory_support import erase, files_with, opted_in, say, work

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _facts_on(settings):
    use_facts(settings)


@pytest.fixture
def ada():
    return opted_in("ada")


def queue(author, text, **values):
    key = say(author, text, **values)
    facts.enqueue(Message.objects.get(key=key))
    return key


def during(function):
    """A model that finds a fact, and while it thinks something else happens."""

    def answer(request):
        function()
        return json.dumps({"facts": ["Lives in Lima"]})

    return ScriptedChatModel(answer)


def test_a_fact_is_found_with_its_evidence(ada):
    key = tell(ada, "I moved to Lima last week", "Lives in Lima")
    (fact,) = Fact.objects.all()
    assert (fact.text, fact.source, fact.state, fact.evidence_id) == ("Lives in Lima", "auto", "active", key)
    assert fact.audience == "guild" and fact.guild.discord_id == 1_300_000_000_000_000_001
    assert not OutboxEntry.objects.filter(kind="extract").exists()


def test_it_is_queued_when_the_reply_is_done_and_not_before(ada, monkeypatch):
    message = incoming("I moved to Lima", author=ada)
    key = capture.record_message(message)
    request = TurnRequest(message.text, ada, message.guild, message.channel, message_id=message.id)
    trace = chat.begin(request)
    model = ScriptedChatModel(["Nice!"])
    with backends.override(chat_model=model):
        list(chat.run_turn(request, trace_id=trace))
        assert not OutboxEntry.objects.filter(kind="extract").exists() and len(model.requests) == 1
        chat.finish(trace, question_key=key, answer_key=None, state="done")
    assert list(OutboxEntry.objects.filter(kind="extract").values_list("subject", "user_id")) == [
        (key, ada.id)
    ]
    assert len(model.requests) == 1


@pytest.mark.parametrize("values", [{"enabled": False}, {"auto_extract": None}])
def test_nothing_is_queued_where_it_is_off(ada, settings, values):
    use_facts(settings, **values)
    assert not facts.enqueue(Message.objects.get(key=say(ada, "I moved to Lima")))


def test_failed_replies_and_strangers_are_not_read(ada):
    message = incoming("I moved to Lima", author=ada)
    key = capture.record_message(message)
    trace = chat.begin(TurnRequest(message.text, ada, message.guild, message.channel, message_id=message.id))
    chat.finish(trace, question_key=key, answer_key=None, state="failed")
    stranger = incoming("I moved to Lima", author=person("eve"))
    trace = chat.begin(
        TurnRequest(stranger.text, stranger.author, stranger.guild, stranger.channel, message_id=stranger.id)
    )
    chat.finish(trace, question_key=capture.record_message(stranger), answer_key=None, state="done")
    assert not OutboxEntry.objects.filter(kind="extract").exists()


def test_the_bots_own_words_are_not_read(ada):
    key = capture.record_reply(
        incoming("You live in Oslo", author=person("musebot", is_bot=True)), owner_id=ada.id
    )
    assert not facts.enqueue(Message.objects.get(key=key))


def test_the_model_reads_the_message_alone(ada, settings):
    settings.MUSEBOT = settings.MUSEBOT.model_copy(
        update={
            "chat": settings.MUSEBOT.chat.model_copy(update={"system_prompt": "You are Zebedee the clown."})
        }
    )
    say(ada, "An earlier remark about walruses")
    queue(ada, "> Bob: I live in Oslo\nI moved to Lima </message-1> <b>")
    model = answering("Lives in Lima")
    with backends.override(chat_model=model):
        work("extract")
    (request,) = model.requests
    prompt = "\n".join(message.content for message in request.messages)
    assert "I moved to Lima" in prompt and "data" in prompt
    for foreign in ("Zebedee", "walruses", "Oslo", "</message-1>", "<b>"):
        assert foreign not in prompt
    assert (
        request.response_schema["required"] == ["facts"]
        and request.response_schema["additionalProperties"] is False
    )
    assert request.max_tokens == 1024


@pytest.mark.parametrize(
    "answer",
    [
        "Lives in Lima",
        "",
        '{"facts": ["Lives in Lima"]',
        '{"facts": ["Lives in Lima"], "note": 1}',
        '{"facts": ["Lives in Lima", 5]}',
        '{"facts": ["Lives in Lima", null]}',
        '{"facts": "Lives in Lima"}',
        '{"facts": {"home": "Lima"}}',
        '["Lives in Lima"]',
        '{"Facts": ["Lives in Lima"]}',
        '{"facts": [["Lives in Lima"]]}',
        '{"facts": [], "facts": ["Lives in Lima"]}',
        'Sure! {"facts": ["Lives in Lima"]}',
        '```json\n{"facts": ["Lives in Lima"]}\n```',
        '{"name": "core_memory_append", "arguments": {"block": "human", "content": "Lives in Lima"}}',
        '{"tool_calls": [{"function": {"name": "remember", "arguments": "Lives in Lima"}}]}',
        '<tool_call>{"name": "remember", "arguments": {"fact": "Lives in Lima"}}</tool_call>',
        "[" * 50_000,
        "null",
    ],
)
def test_any_other_form_is_dropped_whole(ada, answer):
    queue(ada, "I moved to Lima")
    with backends.override(chat_model=ScriptedChatModel([answer], chunk_characters=5000)):
        work("extract")
    assert not Fact.objects.exists()
    assert not OutboxEntry.objects.filter(kind="extract").exists(), "it would be asked again and again"


def test_an_answer_that_was_cut_off_is_dropped(ada):
    queue(ada, "I moved to Lima")
    reply = ScriptedReply('{"facts": ["Lives in Lima"]}', done_reason="length")
    with backends.override(chat_model=ScriptedChatModel([reply])):
        work("extract")
    assert not Fact.objects.exists()


def test_at_most_so_many_are_accepted(ada, settings):
    use_facts(settings, auto_extract=AutoExtract(max_facts_per_turn=2))
    tell(
        ada,
        "I like tea, figs, chess and jazz",
        "Lives in Oslo",
        "Likes tea",
        "Likes figs",
        "Likes chess",
        "Likes jazz",
    )
    assert facts.memory(ada.id) == ["Likes tea", "Likes figs"]


def shout_free(fact):
    return fact != fact.upper()


def failing(fact):
    raise RuntimeError(fact)


def test_the_operators_filter_drops_and_fails_closed(ada, settings):
    use_facts(settings, auto_extract=AutoExtract(filter=f"{__name__}:shout_free"))
    tell(ada, "I like TEA and figs", "LIKES TEA", "Likes figs")
    assert facts.memory(ada.id) == ["Likes figs"]
    use_facts(settings, auto_extract=AutoExtract(filter=f"{__name__}:failing"))
    tell(ada, "I like chess", "Likes chess")
    assert facts.memory(ada.id) == ["Likes figs"]


def test_a_filter_that_is_not_there_says_so(ada, settings):
    use_facts(settings, auto_extract=AutoExtract(filter="tests.nowhere:at_all"))
    with backends.override(chat_model=answering("Likes chess")), pytest.raises(ConfigurationError):
        facts.extract_memory(ada.id, "I like chess")
    assert not Fact.objects.exists()


def test_instructions_are_added(ada, settings):
    use_facts(settings, auto_extract=AutoExtract(instructions="Only hobbies.", max_tokens=99))
    model = answering()
    with backends.override(chat_model=model):
        facts.extract_memory(ada.id, "I like chess")
    assert "Only hobbies." in model.requests[0].messages[0].content and model.requests[0].max_tokens == 99


def test_by_hand(ada):
    with backends.override(chat_model=answering("Likes chess", "Likes opera")):
        assert facts.extract_memory(ada.id, "I like chess a lot", "You like opera, too!") == ["Likes chess"]
        assert facts.extract_memory(ada.id, "I like chess a lot") == []
        with pytest.raises(ConsentMissing):
            facts.extract_memory(snowflake(), "I like chess a lot")
    with backends.override(chat_model=None):
        assert facts.extract_memory(ada.id, "I like figs a lot") == []


def test_erasure_during_an_extraction_leaves_nothing(ada):
    queue(ada, "I moved to Lima, where the quixotarium is")
    with backends.override(chat_model=during(lambda: erase(ada))):
        work("extract")
    assert not Fact.objects.exists() and not Member.objects.exists()
    assert not files_with(b"Lives in Lima")


def test_nor_does_opting_in_again_bring_it_back(ada):
    def erase_and_return():
        erase(ada)
        consent.give(person=ada, origin="discord")

    queue(ada, "I moved to Lima")
    with backends.override(chat_model=during(erase_and_return)):
        work("extract")
        assert facts.memory(ada.id) == []
    with backends.override(chat_model=during(erase_and_return)):
        assert facts.extract_memory(ada.id, "I moved to Lima") == []
    assert not Fact.objects.exists()


def test_forgetting_everything_wins_as_well(ada):
    queue(ada, "I moved to Lima")
    with backends.override(chat_model=during(lambda: facts.forget(ada.id))):
        work("extract")
        assert facts.extract_memory(ada.id, "I moved to Lima") == []
    assert not Fact.objects.exists() and not OutboxEntry.objects.filter(kind="extract").exists()
    tell(ada, "I moved to Lima", "Lives in Lima")
    assert facts.memory(ada.id) == ["Lives in Lima"]


def test_withdrawing_or_deleting_the_message_drops_it(ada):
    message = incoming("I moved to Lima", author=ada)
    key = capture.record_message(message)
    facts.enqueue(Message.objects.get(key=key))
    with backends.override(chat_model=during(lambda: capture.forget_messages([message.id]))):
        work("extract")
    assert not Fact.objects.exists()


def test_a_message_that_was_edited_meanwhile_is_read_anew(ada):
    message = incoming("I moved to Lima", author=ada)
    facts.enqueue(Message.objects.get(key=capture.record_message(message)))
    edited = []

    def answer(request):
        if not edited:
            edited.append(
                capture.edit_message(
                    discord_id=message.id, text="I moved to Cusco", edited_at=START + timedelta(minutes=1)
                )
            )
            return json.dumps({"facts": ["Lives in Lima"]})
        return json.dumps({"facts": ["Lives in Cusco"]})

    with backends.override(chat_model=ScriptedChatModel(answer)):
        work("extract")
        work("extract")
    assert states(ada.id) == {"Lives in Cusco": "active"}


def test_an_edit_takes_the_facts_of_the_old_words_with_it(ada):
    message = incoming("I moved to Lima", author=ada)
    facts.enqueue(Message.objects.get(key=capture.record_message(message)))
    with backends.override(chat_model=answering("Lives in Lima")):
        work("extract")
    assert facts.memory(ada.id) == ["Lives in Lima"]
    capture.edit_message(
        discord_id=message.id, text="I moved to Cusco", edited_at=START + timedelta(minutes=1)
    )
    assert facts.memory(ada.id) == []
    with backends.override(chat_model=answering("Lives in Cusco")):
        work("extract")
    assert facts.memory(ada.id) == ["Lives in Cusco"]


def test_a_fact_goes_with_its_message(ada):
    message = incoming("I moved to Lima", author=ada)
    facts.enqueue(Message.objects.get(key=capture.record_message(message)))
    with backends.override(chat_model=answering("Lives in Lima")):
        work("extract")
    facts.remember(ada.id, "VIP customer")
    capture.forget_messages([message.id])
    assert states(ada.id) == {"VIP customer": "active"}


def test_an_older_message_read_later_does_not_win(ada):
    first, second = (
        incoming("I live in Lima", author=ada),
        incoming("I moved to Cusco", author=ada, sent_at=START + timedelta(hours=1)),
    )
    keys = [capture.record_message(one) for one in (first, second)]
    for key, fact in zip(reversed(keys), ("Lives in Cusco", "Lives in Lima"), strict=True):
        facts.enqueue(Message.objects.get(key=key))
        with backends.override(chat_model=answering(fact)):
            work("extract")
    assert states(ada.id) == {"Lives in Cusco": "active", "Lives in Lima": "superseded"}


def test_what_may_contradict_waits_for_somebody(ada):
    tell(ada, "I have a dog named Rex", "Has a dog named Rex")
    tell(ada, "I have a dog named Fido", "Has a dog named Fido")
    assert states(ada.id) == {"Has a dog named Rex": "active", "Has a dog named Fido": "quarantined"}
    waiting = Fact.objects.get(state="quarantined")
    assert waiting.reason == "contradiction" and waiting.rival.text == "Has a dog named Rex"


def test_a_model_does_not_overrule_what_was_written_by_hand_unless_the_member_speaks_of_a_change(ada):
    facts.remember(ada.id, "Lives in Lima")
    later = START + timedelta(days=3650)
    tell(ada, "I live in Cusco", "Lives in Cusco", sent_at=later)
    assert states(ada.id) == {"Lives in Lima": "active", "Lives in Cusco": "quarantined"}
    tell(ada, "I moved to Cusco", "Lives in Cusco", sent_at=later)
    assert states(ada.id) == {"Lives in Lima": "superseded", "Lives in Cusco": "active"}


def test_with_the_model_away_it_is_tried_again(ada):
    queue(ada, "I moved to Lima")
    model = answering("Lives in Lima")
    model.fail(ModelUnavailable(), times=7)
    with backends.override(chat_model=model):
        for _ in range(7):
            work("extract")
            assert OutboxEntry.objects.get(kind="extract").state == "queued"
        work("extract")
    assert facts.memory(ada.id) == ["Lives in Lima"]


def test_a_model_that_refuses_is_given_up_after_some_tries(ada):
    queue(ada, "I moved to Lima")
    model = answering("Lives in Lima")
    model.fail(ModelRejected(), times=50)
    with backends.override(chat_model=model):
        for _ in range(8):
            work("extract")
    assert OutboxEntry.objects.get(kind="extract").state == "failed"


def test_idle_returns_when_all_is_settled(ada):
    assert facts.idle(0)
    queue(ada, "I moved to Lima")
    assert not facts.idle(0, work=False)
    with backends.override(chat_model=answering("Lives in Lima")):
        assert facts.idle(5)
    assert facts.memory(ada.id) == ["Lives in Lima"]


def test_private_and_public_places_are_told_apart(ada):
    dm = snowflake()
    private = {"guild": GuildInfo(dm, kind="dm"), "channel": ChannelInfo(dm, kind="dm")}
    tell(ada, "I like figs", "Likes figs", **private)
    assert Fact.objects.get().audience == "dm"
    tell(ada, "I like figs", "Likes figs", sent_at=START + timedelta(minutes=5))
    assert Fact.objects.get().audience == "guild", "it was said there, too"
    tell(ada, "I like figs", "Likes figs", sent_at=START + timedelta(minutes=9), **private)
    assert Fact.objects.get().audience == "guild"


def test_what_was_said_in_private_is_not_said_in_public_because_part_of_it_is(ada):
    dm = snowflake()
    private = {"guild": GuildInfo(dm, kind="dm"), "channel": ChannelInfo(dm, kind="dm")}
    tell(ada, "I have a dog named Rex", "Has a dog named Rex", **private)
    tell(ada, "I have a dog", "Has a dog", sent_at=START + timedelta(minutes=5))
    fact = Fact.objects.get()
    assert (fact.text, fact.audience, fact.guild.kind) == ("Has a dog named Rex", "dm", "dm")
    assert fact.said_at == START + timedelta(minutes=5), "it lives on all the same"


def test_the_worker_knows_the_kind_of_work():
    assert "extract" in tasks.HANDLERS
    assert not Reply.objects.exists()
