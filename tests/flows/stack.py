"""The product as people run it: real processes in a folder of their own, against the simulators."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.flows import storage
from tests.simulators.discord import DiscordSim
from tests.simulators.ollama import OllamaSim

ROOT = Path(__file__).resolve().parents[2]
WORKER = [
    "-m",
    "celery",
    "-A",
    "musebot_site.celery",
    "worker",
    "-B",
    "-P",
    "threads",
    "-c",
    "2",
    "--loglevel",
    "INFO",
]
MARKER = "MUSEBOT-ANSWER:"


class Stack:
    """One installation: a folder, its environment, and the processes that were started in it."""

    def __init__(self, home: Path, *, template: Stack | None = None, **environment: str) -> None:
        """``template`` is an installation whose database is migrated and empty; it is copied."""
        self.home = home
        self.logs = home / "logs"
        if template is not None:
            shutil.copytree(template.home, home)
        self.storage = storage.make(home, template.storage if template is not None else None)
        self.logs.mkdir(parents=True, exist_ok=True)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(
                ("MUSEBOT_", "DISCORD_", "OLLAMA_", "OPENAI_", "DJANGO_", "LLM_", "CELERY_", "DATABASE_")
            )
        }
        self.environment = {
            **clean,
            "MUSEBOT_HOME": str(home),
            "MUSEBOT_CONFIG": "",
            "PYTHONUNBUFFERED": "1",
            **self.storage.environment,
            **environment,
        }
        if template is None:
            self.manage("migrate", "--verbosity", "0")

    # -- processes
    def manage(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert not check or done.returncode == 0, (
            f"{arguments} ended with {done.returncode}: {done.stderr[-2000:]}"
        )
        return done

    def start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts a process that stays; its output goes to ``logs/name.log``."""
        with (self.logs / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes[name] = process
        return process

    def start_bot(self, *arguments: str) -> subprocess.Popen[bytes]:
        return self.start("bot", "manage.py", "runbot", *arguments)

    def start_worker(self) -> subprocess.Popen[bytes]:
        schedule = self.home / "celerybeat-schedule"
        return self.start("worker", *WORKER, "--schedule", str(schedule))

    def kill(self, name: str) -> None:
        """``kill -9``: the process gets no chance to tidy up."""
        process = self.processes.pop(name)
        os.killpg(
            process.pid, signal.SIGKILL
        )  # with its children: the worker's schedule is a process of its own
        process.wait()

    def stop(self, name: str, *, seconds: float = 15) -> int:
        """SIGTERM; returns the exit code."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(
                f"{name} did not end on SIGTERM; its log: {self.log(name)[-2000:]}"
            ) from None

    def close(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()
        self.storage.close()

    def log(self, name: str) -> str:
        return (self.logs / f"{name}.log").read_text(errors="replace")

    # -- what is stored
    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Reads the database beside the running processes."""
        return self.storage.rows(query, values)

    def count(self, table: str, where: str = "1 = 1", *values: Any) -> int:
        return int(self.rows(f"SELECT count(*) FROM {table} WHERE {where}", *values)[0][0])

    def ask_django(self, code: str) -> Any:
        """The value of ``answer`` after running ``code`` in a shell of the product, through JSON."""
        done = self.manage(
            "shell",
            "--verbosity",
            "0",
            "-c",
            f"import json\n{code}\nprint({MARKER!r} + json.dumps(answer, default=str))",
        )
        return json.loads(done.stdout.partition(MARKER)[2])

    def files_with(self, text: str) -> list[str]:
        """Files below the folder that hold these bytes; on a server also the database."""
        needle = text.encode()
        return ["database"] * (needle in self.storage.content()) + [
            str(path.relative_to(self.home))
            for path in self.home.rglob("*")
            if path.is_file() and needle in path.read_bytes()
        ]

    def words_in_files(self) -> set[str]:
        """Every run of letters in the database and its side files, in lower case."""
        found = words(self.storage.content().decode("latin-1"))
        for path in (self.home / "workflows").rglob("*"):
            if path.is_file():
                found |= words(path.read_bytes().decode("latin-1"))
        return found

    def settle(self) -> None:
        """Empties the database's log into the database, as SQLite does by itself now and then."""
        self.ask_django("from memory.erasure import checkpoint\nanswer = checkpoint.empty_log()")

    def wait(self, condition: Callable[[], Any], *, what: str, seconds: float = 45) -> Any:
        """Waits until the condition is true and returns its value."""
        deadline = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                logs = {name: self.log(name)[-1500:] for name in self.processes}
                raise AssertionError(f"waited in vain until {what}; logs: {logs}")
            time.sleep(0.05)

    def wait_embedded(self, seconds: float = 60) -> None:
        """Waits until nothing is left to embed."""
        self.wait(
            lambda: (
                not self.count("memory_message", "embedding = 'pending'")
                and not self.count("memory_outboxentry", "kind = 'embed'")
            ),
            what="everything was embedded",
            seconds=seconds,
        )


def words(text: str) -> set[str]:
    """The words of a text in lower case: runs of plain letters."""
    return set(re.findall(r"[a-z]+", text.lower()))


class Community:
    """A server on the simulated Discord with some people in it."""

    def __init__(self, discord: DiscordSim, people: list[str], channels: list[Any], **options: Any) -> None:
        self.discord = discord
        self.people = {name: discord.user(name, global_name=name.title()) for name in people}
        self.guild = discord.guild(
            "Harbour", members=list(self.people.values()), channels=channels, **options
        )
        self.channels: dict[str, str] = self.guild["channels"]

    def say(self, who: str, text: str, channel: str = "general", **options: Any) -> dict[str, Any]:
        return self.discord.say(self.channels.get(channel, channel), self.people[who], text, **options)

    def ask(
        self, who: str, text: str, channel: str = "general", *, timeout: float = 30
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Mentions the bot and waits for the first message of its reply: (question, reply)."""
        question = self.say(who, f"<@{self.discord.bot_id}> {text}", channel)
        return question, self.reply_to(question, timeout=timeout)

    def reply_to(self, question: dict[str, Any], *, timeout: float = 30) -> dict[str, Any]:
        sent: list[dict[str, Any]] = self.discord.wait_sent(
            kind="message_create", reply_to_id=question["id"], timeout=timeout
        )
        return sent[0]

    def command(self, who: str, command: str, channel: str = "general", **options: Any) -> str:
        """Uses a slash command and returns what the person is shown; it has to be ephemeral."""
        done = self.discord.invoke(self.channels[channel], self.people[who], command, timeout=60, **options)
        assert done["state"] == "acked" and done["messages"], done
        assert all(message["ephemeral"] for message in done["messages"]), done
        return "\n".join(message["content"] for message in done["messages"])

    def messages_of_bot(self, channel: str = "general") -> list[dict[str, Any]]:
        """What stands in the channel now, oldest first."""
        found = self.discord.get(
            f"/channels/{self.channels[channel]}/messages", limit=1000, author=self.discord.bot_id
        )
        return list(reversed(found["messages"]))


def running_discord() -> Iterator[DiscordSim]:
    with DiscordSim.start("--rate-profile", "fast") as sim:
        yield sim
        assert not sim.requests()["unimplemented"]


def running_ollama(*arguments: str) -> Iterator[OllamaSim]:
    with OllamaSim.start(*arguments) as sim:
        yield sim
