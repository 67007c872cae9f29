"""How the parts are, and what is left to set up. Asking the models takes time, so their answer is kept for a minute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.core.cache import cache
from django.utils import timezone

from memory import backends, outbox, selectors
from memory.capture.importing import imported_files
from memory.conf import get_config
from memory.errors import MusebotError
from memory.selectors import Figures
from musebot_site import earlier_memory

State = Literal["ok", "busy", "attention", "failed", "off"]
ALIVE = timedelta(seconds=90)
"""Heartbeats come several times a minute."""
CHECK_SECONDS = 60
CHECK_KEY = "dashboard:models"


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the installation."""

    name: str
    state: State
    word: str
    detail: str = ""
    at: datetime | None = None
    """When it was last heard of."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the set-up checklist."""

    title: str
    done: bool
    detail: str
    optional: bool = False
    action: str = ""
    """What its button says, where there is a page for it."""
    href: str = ""
    code: str = ""
    """What to type, where that is what is next."""


def models(*, wait: bool = False) -> Mapping[str, Part] | None:
    """Chat and embedding model. None if nobody asked them in the last minute and ``wait`` is false."""
    kept: dict[str, Part] | None = cache.get(CHECK_KEY)
    if kept is None and wait:
        kept = {"chat": _chat_model(), "embedding": _embedding_model()}
        cache.set(CHECK_KEY, kept, CHECK_SECONDS)
    return kept


def _chat_model() -> Part:
    name = "Language model"
    try:
        model = backends.chat_model()
    except MusebotError as error:
        return Part(name, "failed", "Not reachable", error.message)
    if model is None:
        return Part(
            name, "attention", "Not connected", "Answers are put together from memories, and marked so."
        )
    return _checked(name, str(get_config().chat.model), model.check())


def _embedding_model() -> Part:
    name = "Embedding model"
    configured = get_config().memory.embedding_model
    if configured is None:
        return Part(name, "off", "Off", "Long-term memory is off: no embedding model is configured.")
    try:
        found = backends.embedder().check()
    except MusebotError as error:
        return Part(name, "failed", "Not reachable", error.message)
    built_in = " (built in)" if configured.provider == "local" else ""
    return _checked(name, f"{configured}{built_in}", found)


def _checked(name: str, configured: str, found: Mapping[str, Any]) -> Part:
    message = str(found.get("message") or "")
    if found.get("ok"):
        return Part(name, "ok", "Ready", " – ".join(text for text in (configured, message) if text))
    answering = any(host.get("ok") for host in found.get("hosts", ()))
    return Part(name, "failed", "Model missing" if answering else "Not reachable", message or configured)


def processes() -> dict[str, Part]:
    """Bot and worker, by their last heartbeat."""
    return {"bot": _bot(), "worker": _worker()}


def _bot() -> Part:
    beat = selectors.state("bot")
    if get_config().discord.token is None:
        return Part("Discord bot", "attention", "No token", "Set DISCORD_TOKEN and start again.")
    if beat is None:
        return Part("Discord bot", "failed", "Never started", "Start it with: python manage.py runbot")
    if timezone.now() - beat.at > ALIVE:
        return Part("Discord bot", "failed", "Not running", "Start it with: python manage.py runbot", beat.at)
    value = beat.value if isinstance(beat.value, Mapping) else {}
    if value.get("connected") is False:
        return Part(
            "Discord bot",
            "failed",
            "Not connected",
            str(value.get("reason") or "It tries again by itself."),
            beat.at,
        )
    return Part("Discord bot", "ok", "Connected", str(value.get("name") or value.get("user") or ""), beat.at)


def _worker() -> Part:
    beat = selectors.state("worker")
    if beat is None:
        return Part(
            "Worker", "failed", "Never started", "Embedding and erasing wait for it. Start all with: make run"
        )
    if timezone.now() - beat.at > ALIVE:
        return Part(
            "Worker",
            "failed",
            "Not running",
            "Embedding and erasing wait for it. Start all with: make run",
            beat.at,
        )
    return Part("Worker", "ok", "Running", "", beat.at)


def queue() -> Part:
    """Durable work: what waits and what failed."""
    rows = outbox.summary()
    failed = sum(int(str(row["count"])) for row in rows if row["state"] == "failed")
    waiting = sum(int(str(row["count"])) for row in rows if row["state"] != "failed")
    if failed:
        return Part("Queue", "failed", f"{failed:,} failed", f"{waiting:,} waiting.")
    if not waiting:
        return Part("Queue", "ok", "Empty", "Nothing waits.")
    oldest = min(
        (row["oldest"] for row in rows if isinstance(row["oldest"], datetime)), default=timezone.now()
    )
    late = timezone.now() - oldest > timedelta(minutes=5)
    kinds = ", ".join(sorted({str(row["kind"]) for row in rows}))
    state: State = "attention" if late else "busy"
    return Part("Queue", state, f"{waiting:,} waiting", f"{kinds}; the oldest since", oldest)


def steps(figures: Figures, asked: Mapping[str, Part] | None, running: Mapping[str, Part]) -> list[Step]:
    """The set-up checklist, in the order in which one does it."""
    config = get_config()
    chat, embedding = (asked or {}).get("chat"), (asked or {}).get("embedding")
    waiting = "Being asked…"
    return [
        *_earlier_memories(),
        Step("The database is ready", True, "SQLite with vector and full-text search."),
        Step("You can sign in", True, "An account of your own."),
        Step(
            "The embedding model is ready",
            embedding is not None and embedding.state == "ok",
            embedding.detail if embedding else waiting,
            code="" if embedding is None or embedding.state == "ok" else "MUSEBOT_EMBEDDING_MODEL=local",
        ),
        Step(
            "The worker is running",
            running["worker"].state == "ok",
            "It embeds and erases in the background; without it both wait.",
            code="" if running["worker"].state == "ok" else "make run",
        ),
        Step(
            "A Discord token is set",
            config.discord.token is not None,
            "Kept out of the database; it is read from the environment or config.jsonc."
            if config.discord.token
            else "Make a bot in Discord's developer portal, switch on its Message Content intent, and start again with its token:",
            code="" if config.discord.token else "DISCORD_TOKEN=… make run",
        ),
        Step(
            "The bot is connected",
            running["bot"].state == "ok",
            "It listens in its servers."
            if running["bot"].state == "ok"
            else "It connects once its token is set and it was invited to a server.",
        ),
        Step(
            "A language model is connected",
            chat is not None and chat.state == "ok",
            chat.detail if chat else waiting,
            code=""
            if chat is None or chat.state == "ok"
            else "OLLAMA_HOSTS=http://localhost:11434 MUSEBOT_CHAT_MODEL=ollama:llama3.2 make run",
        ),
        Step(
            "The first member has opted in",
            figures.members > 0,
            "Members say so themselves with /memory remember on Discord; nobody can for them."
            if not figures.members
            else "With /memory remember on Discord, or in the sandbox.",
        ),
        Step(
            "Something is remembered",
            figures.memories > 0,
            "Write something in the Playground's sandbox, or load the sample community.",
            action="" if figures.memories else "Open the Playground",
            href="/playground/",
        ),
    ]


def _earlier_memories() -> list[Step]:
    """A memory of the original that was found where ours belongs."""
    imported = imported_files()
    return [
        Step(
            "The memory of Musebot is taken over",
            path.name in imported,
            f"It was found here and set aside, unchanged, as {path.name}. This says what would come in; without --dry-run it does:",
            optional=True,
            code=f"python manage.py import_musebot {path} --dry-run",
        )
        for path in earlier_memory.found(get_config().database_path)
    ]
