"""System checks: what in the configuration cannot work, and what to do about it."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import OperationalError, connection

from memory.conf import get_config
from memory.index.databases import shown

OURS = "musebot"
"""Tag of the checks of our own. Commands ask for these alone: all of Django's would load every page first."""

OLDEST_PGVECTOR = (0, 8)
"""Older ones cannot go on looking in a graph after what a filter left out."""


@register(OURS)
def check_models(**kwargs: Any) -> list[CheckMessage]:
    """Models that are named need a place where they are served."""
    config = get_config()
    found: list[CheckMessage] = []
    named = {
        "MUSEBOT_CHAT_MODEL": config.chat.model,
        "MUSEBOT_EMBEDDING_MODEL": config.memory.embedding_model,
        "MUSEBOT_VISION_MODEL": config.memory.vision_model,
        "memory.autoExtract.model": config.facts.auto_extract.model if config.facts.auto_extract else None,
    }
    for setting, model in named.items():
        if model and model.provider == "ollama" and not config.ollama.hosts:
            found.append(
                Error(
                    f"{setting} is {model}, but no Ollama host is known.",
                    hint="Set OLLAMA_HOSTS (for example http://localhost:11434) or ollama.hosts in config.jsonc.",
                    id="memory.E001",
                )
            )
    chat = config.chat.model
    if chat and chat.provider == "hash":
        found.append(
            Error(
                "MUSEBOT_CHAT_MODEL is hash, which only embeds.", hint="Name a chat model.", id="memory.E002"
            )
        )
    vision = config.memory.vision_model
    if vision and vision.provider in {"local", "hash"}:
        found.append(
            Error(
                f"MUSEBOT_VISION_MODEL is {vision}, but no vision model is built in.",
                hint="Name one of your Ollama host's, or leave it empty.",
                id="memory.E003",
            )
        )
    embedding = config.memory.embedding_model
    if embedding and embedding.provider == "hash":
        found.append(
            Warning(
                "MUSEBOT_EMBEDDING_MODEL is hash, which is meant for tests: it only finds the same words.",
                hint="Write local for the built-in embedder.",
                id="memory.W001",
            )
        )
    if config.chat.context_window < 1024:
        found.append(
            Error(
                f"contextWindow is {config.chat.context_window} tokens, too little for a prompt and an answer.",
                hint="Set it to 4096 or more.",
                id="memory.E004",
            )
        )
    return found


@register(Tags.database)
def check_database(databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """A PostgreSQL has to answer, and to have pgvector (asked where Django asks its databases: ``migrate``, ``check --database``)."""
    if connection.vendor != "postgresql" or not databases:
        return []
    place = shown(connection.settings_dict)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'")
            there = cursor.fetchone()
    except OperationalError as error:
        return [
            Error(
                f"The database {place} cannot be reached: {str(error).splitlines()[0]}",
                hint="See whether the server runs and whether DATABASE_URL has its address, user, password and name.",
                id="memory.E005",
            )
        ]
    if there is None or _version(there[0]) < OLDEST_PGVECTOR:
        what = "no pgvector" if there is None else f"pgvector {there[0]}, which is too old"
        return [
            Error(
                f"The PostgreSQL of {place} has {what}.",
                hint="Install pgvector 0.8 or newer on the server (Debian: postgresql-17-pgvector) or use the image pgvector/pgvector.",
                id="memory.E006",
            )
        ]
    return []


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
