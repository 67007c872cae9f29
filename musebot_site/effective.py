"""Every setting as it counts now, and where it comes from: a variable of the environment, the file, or the default.

Secrets never leave here: of them it is only said whether they are set. Addresses are shown without names and passwords in them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from pydantic import SecretBytes, SecretStr

from memory.conf import Config, get_config
from musebot_site.config_facts import EXTRACTION
from musebot_site.config_facts import OPTIONS as FACT_OPTIONS
from musebot_site.config_rag import OPTIONS as RAG_OPTIONS

Origin = Literal["environment", "file", "default", "made"]
SET, NOT_SET = "set", "not set"
MOST_SHOWN = 400
"""Characters of a value."""


@dataclass(frozen=True, slots=True)
class Effective:
    """One setting."""

    group: str
    name: str
    """What it is, in words."""
    value: str
    origin: Origin
    where: str
    """The variable that it is read from, or the file and the key in it; what to set, where it is the default."""
    secret: bool = False


@dataclass(frozen=True, slots=True)
class _Spec:
    group: str
    name: str
    value: Callable[[Config], Any]
    variable: str = ""
    key: str = ""
    """In the file."""
    secret: bool = False


def _at(path: str) -> Callable[[Config], Any]:
    def read(config: Config) -> Any:
        value: Any = config
        for part in path.split("."):
            value = getattr(value, part)
        return value

    return read


_OLLAMA, _DISCORD = "ollama.", "chatApis.discord."
_SPECS = (
    _Spec("Models", "Language model", _at("chat.model"), "MUSEBOT_CHAT_MODEL", _OLLAMA + "models"),
    _Spec(
        "Models",
        "Embedding model",
        _at("memory.embedding_model"),
        "MUSEBOT_EMBEDDING_MODEL",
        _OLLAMA + "embeddingModel",
    ),
    _Spec("Models", "Vision model", _at("memory.vision_model"), "MUSEBOT_VISION_MODEL"),
    _Spec("Models", "Ollama hosts", _at("ollama.hosts"), "OLLAMA_HOSTS", _OLLAMA + "hosts"),
    _Spec("Models", "OpenAI-compatible server", _at("openai.base_url"), "OPENAI_BASE_URL"),
    _Spec(
        "Models", "Key of the OpenAI-compatible server", _at("openai.api_key"), "OPENAI_API_KEY", secret=True
    ),
    _Spec("Models", "Server for embeddings", _at("openai.embedding_base_url"), "LLM_EMBEDDING_BASE_URL"),
    _Spec(
        "Models",
        "Key of the server for embeddings",
        _at("openai.embedding_api_key"),
        "LLM_EMBEDDING_API_KEY",
        secret=True,
    ),
    _Spec("Discord", "Token", _at("discord.token"), "DISCORD_TOKEN", _DISCORD + "token", secret=True),
    _Spec("Discord", "Address of the API", _at("discord.api_base"), "DISCORD_API_BASE"),
    _Spec("Discord", "Hosts of attachments", _at("discord.cdn_hosts"), "DISCORD_CDN_HOSTS"),
    _Spec("Discord", "Application, for members' sign-in", _at("discord.client_id"), "DISCORD_CLIENT_ID"),
    _Spec(
        "Discord",
        "Secret of the application",
        _at("discord.client_secret"),
        "DISCORD_CLIENT_SECRET",
        secret=True,
    ),
    _Spec("Discord", "Channels it may reply in", _at("discord.channels"), key=_DISCORD + "channels"),
    _Spec(
        "Discord",
        "Channels it keeps out of",
        _at("discord.channels_disallowed"),
        key=_DISCORD + "channelsDisallowed",
    ),
    _Spec(
        "Discord",
        "Who may write in private",
        _at("discord.private_message_users"),
        key=_DISCORD + "privateMessageUsers",
    ),
    _Spec("Discord", "A mention is needed", _at("discord.requires_mention"), key="requiresMention"),
    _Spec(
        "Discord", "Share answered without one, in percent", _at("discord.response_rate"), key="responseRate"
    ),
    _Spec("Answers", "System prompt", _at("chat.system_prompt"), key=_OLLAMA + "systemPrompt"),
    _Spec(
        "Answers", "Shown as they are written", _at("chat.streams_response"), key=_OLLAMA + "streamsResponse"
    ),
    _Spec("Answers", "What is said when something fails", _at("chat.error_message"), key="errorMessage"),
    _Spec("Answers", "Context window, in tokens", _at("chat.context_window"), key=_OLLAMA + "contextWindow"),
    _Spec("Memories", "Recalled for an answer, at most", _at("memory.top_k"), key=_OLLAMA + "topK"),
    _Spec("Memories", "Tokens that they may take", _at("memory.token_budget"), key=_OLLAMA + "tokenBudget"),
    _Spec("Memories", "Form in the prompt", _at("memory.inject_format"), key=_OLLAMA + "injectFormat"),
    _Spec("Memories", "Core memory", _at("core_memory.provider"), "MEMORY_PROVIDER", "memoryProvider"),
    _Spec("Facts", "Facts about members", _at("facts.enabled"), key="memory"),
    _Spec(
        "Facts",
        "Found by themselves",
        lambda config: config.facts.auto_extract is not None,
        key="memory.autoExtract",
    ),
    *(_Spec("Facts", key, _at(f"facts.{name}"), key=f"memory.{key}") for key, name in FACT_OPTIONS.items()),
    *(
        _Spec(
            "Facts", f"autoExtract: {key}", _at(f"facts.auto_extract.{name}"), key=f"memory.autoExtract.{key}"
        )
        for key, name in EXTRACTION.items()
    ),
    _Spec("Documents", "Answers from documents", _at("rag.enabled"), key="rag"),
    *(_Spec("Documents", key, _at(f"rag.{name}"), key=f"rag.{key}") for key, name in RAG_OPTIONS.items()),
    _Spec(
        "Documents",
        "Named in the configuration",
        lambda config: len(config.rag.documents),
        key="rag.documents",
    ),
    _Spec("Storage", "Folder for everything that is written", _at("home"), "MUSEBOT_HOME"),
    _Spec("Storage", "Database", lambda config: config.database_url or config.database_path, "DATABASE_URL"),
    _Spec("Storage", "Broker", lambda config: config.broker_url or "embedded", "CELERY_BROKER_URL"),
    _Spec("Storage", "Bot of the file", _at("bot_id"), "MUSEBOT_BOT_ID", "botId"),
    _Spec("Storage", "Configuration file", lambda config: _file(config) or "none", "MUSEBOT_CONFIG"),
    _Spec("Privacy", "Days to answer a request to forget", _at("erasure_days"), key="erasureDays"),
    _Spec("Privacy", "Key that hides who is meant", _at("privacy_key"), secret=True),
    _Spec("Dashboard", "Address as people reach it", _at("public_url"), "MUSEBOT_PUBLIC_URL", "publicUrl"),
    _Spec("Dashboard", "Names it answers to", lambda _: settings.ALLOWED_HOSTS, "DJANGO_ALLOWED_HOSTS"),
    _Spec(
        "Dashboard",
        "Behind TLS",
        lambda _: bool(getattr(settings, "SECURE_SSL_REDIRECT", False)),
        "DJANGO_HTTPS",
    ),
    _Spec("Dashboard", "Details of errors are shown", lambda _: settings.DEBUG, "DJANGO_DEBUG"),
    _Spec(
        "Dashboard", "Secret key", lambda _: SecretStr(settings.SECRET_KEY), "DJANGO_SECRET_KEY", secret=True
    ),
    _Spec(
        "Dashboard",
        "Level of the log",
        lambda _: logging.getLevelName(logging.getLogger().level),
        "MUSEBOT_LOG_LEVEL",
    ),
)
_MADE = {"Key that hides who is meant": "secrets/privacy_key", "Secret key": "secrets/secret_key"}
"""Made on the first start, where nobody gave them."""


def effective(text: str = "") -> list[Effective]:
    """All settings, or those that a search finds in their name, group, value, variable or key."""
    config = get_config()
    rows = [_row(spec, config) for spec in _SPECS]
    rows += _others(config)
    words = text.casefold().split()
    return [row for row in rows if all(word in _searched(row) for word in words)]


def _searched(row: Effective) -> str:
    return f"{row.group} {row.name} {row.where} {row.origin} {'' if row.secret else row.value}".casefold()


def _row(spec: _Spec, config: Config) -> Effective:
    try:
        value = spec.value(config)
    except AttributeError:  # of a part that is switched off
        value = None
    origin, where = _origin(spec, config)
    return Effective(
        spec.group, spec.name, shown(value, secret=spec.secret), origin, where, secret=spec.secret
    )


def _origin(spec: _Spec, config: Config) -> tuple[Origin, str]:
    """Environment first, as the configuration is read."""
    variable = spec.variable
    if (
        variable == "MUSEBOT_EMBEDDING_MODEL"
        and config.sources.get("embedding.model") == "LLM_EMBEDDING_MODEL"
    ):
        variable = "LLM_EMBEDDING_MODEL"
    if (
        variable and variable in config.sources.values()
    ):  # also one that is set to nothing, which may mean off
        return "environment", variable
    if spec.key and (file := config.sources.get(f"file:{spec.key}")):
        return "file", f"{file}: {spec.key}"
    if spec.name in _MADE and spec.secret:
        return "made", _MADE[spec.name]
    return "default", variable or spec.key


def _others(config: Config) -> list[Effective]:
    """Variables that are set and have no row of their own: their names, never their values."""
    known = {spec.variable for spec in _SPECS} | {"LLM_EMBEDDING_MODEL", "DJANGO_SETTINGS_MODULE"}
    names = sorted(name for name, where in config.sources.items() if name == where and name.isupper())
    return [
        Effective("Others", name, SET, "environment", name, secret=True)
        for name in names
        if name not in known
    ]


def _file(config: Config) -> str:
    return next((file for name, file in config.sources.items() if name.startswith("file:")), "")


def shown(value: Any, *, secret: bool = False) -> str:
    """A value as it may be seen: secrets only as set or not, addresses without what is secret in them."""
    if secret or isinstance(value, SecretStr | SecretBytes):
        return SET if value else NOT_SET
    if value is None or value == "" or value == () or value == frozenset():
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, timedelta):
        return f"{value.total_seconds() / 86_400:g} days"
    if isinstance(value, frozenset | tuple | list):
        return ", ".join(
            shown(one) for one in (sorted(value, key=str) if isinstance(value, frozenset) else value)
        )
    text = without_credentials(str(value))
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def without_credentials(text: str) -> str:
    """An address without user, password and query; any other text as it is."""
    if "://" not in text:
        return text
    try:
        parts = urlsplit(text)
    except ValueError:
        return "(an address that cannot be read)"
    if not parts.netloc:
        return text
    place = parts.netloc.rpartition("@")[2]
    hidden = "…@" if "@" in parts.netloc else ""
    return urlunsplit((parts.scheme, f"{hidden}{place}", parts.path, "…" if parts.query else "", ""))
