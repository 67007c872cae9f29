"""System checks: what in the configuration cannot work, and what to do about it."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register

from memory.conf import get_config


@register()
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
    if config.database_url:
        found.append(
            Error(
                "DATABASE_URL is set, but this version stores in SQLite only.",
                hint="Remove DATABASE_URL.",
                id="memory.E005",
            )
        )
    return found
