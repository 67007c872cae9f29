"""What an answer links to was retrieved, and shows where it leads; everything else stays text."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory import backends, chat
from memory.chat.links import LinkFilter, addresses, without_hidden_links
from memory.llm.scripted import ScriptedChatModel
from memory.types import Utterance
from tests.factories import MessageFactory
from tests.memory.chat_support import ask, recalled, use_recall

GIVEN = "https://docs.example/boats?page=2"
EVIL = "https://evil.example/steal"
PRESSED = re.compile(r"(?:https?|steam|discord)://[^\s<]*[^<.,:;\"'\]\s]", re.IGNORECASE)
"""What Discord makes a link of, wherever it stands outside of code."""
INVITED = re.compile(r"discord(?:app)?\.(?:gg|com/invite)/\w+|discord\.gift/\w+", re.IGNORECASE)
HIDDEN = re.compile(r"\]\(\s*<?[a-z]+:", re.IGNORECASE)
CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


def shown(answer: str, *retrieved: str, size: int = 5) -> str:
    links = LinkFilter(retrieved)
    pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
    return "".join(links.feed(piece) for piece in pieces) + links.flush()


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    "answer",
    [
        f"Go to {EVIL} now",
        f"Go to {EVIL}",
        EVIL.upper(),
        f"<{EVIL}>",
        f"x{EVIL}",
        f"({EVIL})",
        f"好{EVIL}",
        f"`{EVIL}`",
        f"` {EVIL}",
        f"> {EVIL}",
        f"# {EVIL}\n- {EVIL}",
        f"[your bank]({EVIL})",
        f"[your bank](<{EVIL}>)",
        f"[your bank]( {EVIL} 'title')",
        f"[https://docs.example/boats?page=2]({EVIL})",
        f"![a picture]({EVIL}/x.png?secret=1234)",
        f"[a [b] c]({EVIL})",
        f"[]({EVIL})",
        f"{GIVEN}&secret=1234",
        f"{GIVEN}]secret",
        f"{GIVEN}`secret",
        f"{GIVEN},{EVIL}",
        "https://docs.example@evil.example/",
        "https://docs.example.evil.example/boats",
        "https://docs.exampl\u0435/boats",
        "http://docs.example/boats?page=2",
        "steam://run/1",
        "discord://-/invite/abc",
        f"` ``` `{EVIL} ` ```",
        f"```\ncode\n``` {EVIL}",
        f"``` x ``` {EVIL}",
        "a" * 3000 + EVIL,
        "https://evil.example/" + "a" * 5000,
    ],
)
def test_an_address_that_was_not_retrieved_leads_nowhere(answer: str, size: int) -> None:
    seen = shown(answer, f"Somebody said: see {GIVEN}.", size=size)
    assert [one for one in PRESSED.findall(seen) if one.strip(")") != GIVEN] == []
    assert not HIDDEN.search(seen)
    assert "evil" not in answer.lower() or "evil" in seen.lower(), "it can still be read"


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    "invite", ["discord.gg/abc123", "https://discord.gg/abc123", "discord.com/invite/abc", "discord.gift/xyz"]
)
def test_so_does_an_invitation(invite: str, size: int) -> None:
    seen = shown(f"Join {invite} now, or {invite}", "Nobody said that.", size=size)
    assert not INVITED.search(seen) and not PRESSED.search(seen)
    assert shown(f"Join {invite} now", f"Join us at {invite}!", size=size) == f"Join {invite} now"


@pytest.mark.parametrize(
    "answer",
    [
        GIVEN,
        f"See {GIVEN}.",
        f"See <{GIVEN}>, it says so.",
        f"({GIVEN})",
        f"It is `{GIVEN}`.",
        "See https://docs.example/boats, or https://docs.example.",
        "HTTPS://DOCS.EXAMPLE/boats?page=2",
        "1 < 2, a://b, x[0](y), f(x) and 10:30.",
        "No links at all: only words.",
    ],
)
def test_one_that_was_retrieved_stays(answer: str) -> None:
    for size in (1, 3, 1000):
        assert shown(answer, f"[docs]({GIVEN}) and more", size=size) == answer


def test_a_name_stands_beside_its_address() -> None:
    assert shown(f"[the manual]({GIVEN})", GIVEN) == f"[the manual] ({GIVEN})"
    assert shown(f"![photo]({GIVEN})", GIVEN) == f"![photo] ({GIVEN})"
    assert without_hidden_links(f"[Nitro]({EVIL})") == f"[Nitro] ({EVIL})"


def test_code_blocks_are_left_alone() -> None:
    code = f"Run\n```sh\ncurl {EVIL}\n```\nthen wait."
    for size in (1, 2, 5, 1000):
        assert shown(code, size=size) == code


def test_addresses_are_compared_without_what_ends_a_sentence() -> None:
    assert addresses("(see https://A.example/x_(y)).") == {"https://a.example/x_(y)"}
    assert addresses("[https://a.example](https://b.example/c)") >= {
        "https://a.example",
        "https://b.example/c",
    }
    assert addresses("https:// and ://x") == set()


answers = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from(
            [
                EVIL,
                GIVEN,
                "https://",
                "http:/",
                "/evil",
                "](",
                "[x]",
                "<",
                ">",
                "`",
                "``",
                "```",
                "\n",
                " ",
                "discord.gg/",
                "abc",
                ")",
            ]
        ),
    ),
    max_size=10,
).map("".join)


@given(answers, st.integers(1, 9))
@example("](https:", 1)
@example("/discord.gg/0<", 1)
@example("](https://evil.example/steal`<", 1)
@example("](<https://><<", 1)
@example("discord.gg/](`\n>", 1)
@example("](discord.gg/> ``", 1)
@example("`" + GIVEN + "`" + "secret", 3)
@settings(max_examples=200, deadline=None)
def test_whatever_it_says_and_however_it_streams(answer: str, size: int) -> None:
    whole = shown(answer, GIVEN, size=len(answer) or 1)
    assert shown(answer, GIVEN, size=size) == whole
    outside = CODE.sub(" ", whole) if "`" in whole else whole
    for link in PRESSED.findall(outside):
        bare = link.partition("`")[0].rstrip(")>]`*_~|!?…")
        assert GIVEN.startswith(bare) or bare in {"https://", "http://"} or bare.startswith(GIVEN + "`"), (
            whole
        )
    if "://" not in answer and "](" not in answer and "." not in answer:
        assert whole == answer


# -- in a turn
@pytest.fixture
def memory(db):
    return MessageFactory(text=f"The timetable is at {GIVEN}, says the harbour.")


def turn(answer: str, *, question: str = "Where is the timetable?", **values):
    model = ScriptedChatModel([answer])
    with backends.override(chat_model=model):
        return chat.answer(ask(question, **values))


def test_a_turn_shows_keeps_and_streams_no_other_link(memory, monkeypatch) -> None:
    use_recall(monkeypatch, recalled(memory))
    result = turn(f"It is at {GIVEN}; also [see here]({EVIL}).", channel=memory.channel)
    for text in (result.text, result.answer, result.kept):
        assert GIVEN in text and EVIL not in text and "https∶⁄⁄evil.example⁄steal" in text


def test_the_question_itself_is_not_retrieved(memory, monkeypatch) -> None:
    use_recall(monkeypatch, recalled(memory))
    result = turn(f"Yes: {EVIL}", question=f"Please say: {EVIL}", channel=memory.channel)
    assert EVIL not in result.text


def test_what_was_said_before_in_the_conversation_is(memory, monkeypatch) -> None:
    use_recall(monkeypatch, recalled(memory))
    history = (Utterance("user", "Ben", "My page is https://ben.example/boats"),)
    result = turn("It is https://ben.example/boats", channel=memory.channel, history=history)
    assert "https://ben.example/boats" in result.text


def test_an_answer_that_was_stored_launders_no_link(memory, monkeypatch) -> None:
    """What is remembered of an answer may be retrieved later on; an invented address in it must not become one by that."""
    use_recall(monkeypatch, recalled(memory))
    first = turn(f"Try {EVIL}", channel=memory.channel)
    again = MessageFactory(text=first.kept, is_bot=True, channel=memory.channel)
    use_recall(monkeypatch, recalled(again))
    assert EVIL not in turn(f"As I said: {EVIL}", channel=memory.channel).text


def test_a_quotation_without_a_model_hides_no_address(db, monkeypatch) -> None:
    row = MessageFactory(text=f"[Free Nitro]({EVIL})")
    use_recall(monkeypatch, recalled(row))
    with backends.override(chat_model=None):
        text = chat.answer(ask(channel=row.channel)).text
    assert f"[Free Nitro] ({EVIL})" in text and not HIDDEN.search(text)
