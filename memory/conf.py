"""The configuration as one frozen object. ``musebot_site.config`` fills it; everything else reads it here."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretBytes, SecretStr

ModelProvider = Literal["ollama", "openai", "local", "hash"]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelRef(Frozen):
    """Which model to use: ``ollama:NAME``, ``openai:NAME``, ``local`` (built in) or ``hash`` (for tests)."""

    provider: ModelProvider
    name: str = ""

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}" if self.name else self.provider


class DiscordConfig(Frozen):
    token: SecretStr | None = None
    api_base: str = ""
    """Base URL of another Discord-compatible server; empty for discord.com."""
    client_id: str = ""
    """Of the application, for members' sign-in to the dashboard; empty for none."""
    client_secret: SecretStr | None = None
    cdn_hosts: tuple[str, ...] = ("cdn.discordapp.com", "media.discordapp.net")
    channels: frozenset[int] = frozenset()
    """Channels that the bot may reply in; empty for all. It does not limit what is remembered."""
    channels_disallowed: frozenset[int] = frozenset()
    """Channels in which the bot neither replies nor remembers."""
    private_message_users: frozenset[str] = frozenset()
    """User names (or ids) that may write to the bot in private."""
    requires_mention: bool = True
    response_rate: int = 100
    """Percentage of messages answered where no mention is required."""


class ChatConfig(Frozen):
    model: ModelRef | None = None
    """``None`` or ``local``: answers are put together from what was recalled, and marked so."""
    system_prompt: str = "You are a helpful assistant."
    streams_response: bool = True
    error_message: str = "An error occurred while processing your request. Please try again later."
    context_window: int = 8192
    """``num_ctx`` in tokens; one constant for a model, since a change reloads it."""
    max_reply_tokens: int = 1024
    request_timeout: float = 120.0
    """Seconds to wait for the first token, loading of the model included."""


class MemorySettings(Frozen):
    embedding_model: ModelRef | None = None
    """``None``: long-term memory is off."""
    vision_model: ModelRef | None = None
    vision_by_chat_model: bool = True
    """Where no vision model is named: a chat model that its host says can see describes images."""
    top_k: int = 24
    token_budget: int = 400
    """Tokens that recalled memories may take in a prompt."""
    inject_format: Literal["lines", "json"] = "lines"
    recall_timeout: float = 5.0


MAX_DURATION = timedelta(days=36_500)
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)\s*", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def parse_duration(value: Any) -> timedelta:
    """``"90d"``, ``"12h"``, ``"30m"``, ``"45s"``, ``"2w"``, ``"500ms"``, or a number of milliseconds.

    Raises ``ValueError`` for anything else, for what is not more than nothing, and for more than a hundred years.
    """
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if math.isfinite(value) else math.nan
    elif isinstance(value, str) and (found := _DURATION.fullmatch(value)):
        seconds = float(found[1]) * _UNITS[found[2].lower()]
    else:
        raise ValueError(f'{value!r} is no duration; write "90d", "12h" or a number of milliseconds')
    if not 0 < seconds <= MAX_DURATION.total_seconds():
        raise ValueError(f"{value!r} cannot work; a duration is more than nothing and at most 100 years")
    return timedelta(seconds=seconds)


def _whole(value: Any) -> Any:
    """Takes no truth value and no fraction for a number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("it has to be a whole number of at least 1")
    return value


def _whole_or_none(value: Any) -> Any:
    """As ``_whole``, with nothing allowed."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("it has to be a whole number of at least 0")
    return value


Positive = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=1_000_000)]
Duration = Annotated[timedelta, BeforeValidator(parse_duration)]


class AutoExtract(Frozen):
    """How facts are found in what members write, after each reply."""

    model: ModelRef | None = None
    """None: the chat model."""
    max_tokens: Positive | None = None
    """Tokens that the extraction may take; None: 1024, and no limit of ours for Ollama."""
    max_facts_per_turn: Positive = 5
    instructions: str = ""
    """Added to the instructions of the extraction."""
    filter: str = ""
    """``package.module:function`` that gets a fact and returns False to drop it."""


class FactSettings(Frozen):
    """Short facts about each member. The functions of ``memory.facts`` work while ``enabled`` is False too."""

    enabled: bool = False
    """Whether facts are injected and extracted by themselves."""
    max_facts: Positive = 50
    """Facts kept of a member; the oldest go first."""
    ttl: Duration | None = None
    """How long a fact is kept after it was last stated; None: for good."""
    max_fact_length: Positive = 300
    """Characters."""
    inject: bool = True
    inject_in_groups: bool = False
    """Also where others read the reply: each member reads what the bot knows of the one who asks."""
    auto_extract: AutoExtract | None = None
    namespace: Annotated[str, Field(min_length=1, max_length=100)] = "ai.memory"


class CoreMemorySettings(Frozen):
    """Core, archival and recall memory; see ``memory.blocks``. Whether ``human`` is used in groups is ``facts.inject_in_groups``."""

    provider: Literal["flat", "letta"] = "flat"
    persona_limit: int = 2000
    """Characters, as all limits here; an admin may raise that of a block to 20000."""
    human_limit: int = 2000
    working_context_limit: int = 4000
    blob_limit: int = 8000
    """What the archive of one member may take in the prompts of ``flat``, newest lines first."""


class DocumentSource(Frozen):
    """A document of the configuration: a file or a folder, or a text under an id of its own."""

    path: str = ""
    id: str = ""
    text: str = ""
    source: str = ""
    """What citations call it."""


class RagSettings(Frozen):
    """Answers from documents; see ``memory.rag``."""

    enabled: bool = True
    retriever: str = ""
    """``package.module:factory`` of another retriever; empty for the built-in one over the uploaded documents."""
    top_k: Positive = 3
    """Passages for a question."""
    min_score: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] = 0.0
    """Passages below it are left out."""
    append_sources: bool | str = False
    """True: the sources are named below the answer. ``package.module:function``: that function writes the line."""
    instructions: str = ""
    """Replaces the words that stand before the passages in a prompt."""
    timeout_ms: Annotated[int, BeforeValidator(_whole_or_none), Field(ge=0)] = 10_000
    """How long retrieval is waited for; 0 for as long as it takes."""
    chunk_size: Positive = 1000
    chunk_overlap: Annotated[int, BeforeValidator(_whole_or_none), Field(ge=0)] = 150
    """At most a quarter of the size counts."""
    chunk_unit: Literal["characters", "tokens"] = "characters"
    """``tokens`` are those of the embedding model, as far as they can be told."""
    max_file_bytes: Annotated[int, BeforeValidator(_whole), Field(ge=1)] = 20 * 1024 * 1024
    retry_delay_ms: Annotated[int, BeforeValidator(_whole_or_none), Field(ge=0)] = 30_000
    """Until a failed ingest is tried again."""
    documents: tuple[DocumentSource, ...] = ()


class OllamaConfig(Frozen):
    hosts: tuple[str, ...] = ()


class OpenAIConfig(Frozen):
    base_url: str = "https://api.openai.com/v1"
    api_key: SecretStr | None = None
    embedding_base_url: str = ""
    """Base URL for embeddings where it differs (``LLM_EMBEDDING_BASE_URL``)."""
    embedding_api_key: SecretStr | None = None


class Config(Frozen):
    bot_id: str
    home: Path
    """Folder for everything that is written."""
    database_path: Path
    database_url: str = Field(default="", repr=False)
    """Empty for SQLite; it may hold a password."""
    broker_url: str = Field(default="", repr=False)
    """Empty for the embedded broker."""
    privacy_key: SecretBytes
    discord: DiscordConfig = DiscordConfig()
    chat: ChatConfig = ChatConfig()
    memory: MemorySettings = MemorySettings()
    facts: FactSettings = FactSettings()
    core_memory: CoreMemorySettings = CoreMemorySettings()
    rag: RagSettings = RagSettings()
    erasure_days: Annotated[int, Field(ge=1, le=365)] = 30
    """Days within which a request to forget somebody is to be answered."""
    public_url: str = ""
    """Address of the dashboard as people reach it; with it sources on Discord link to their page."""
    ollama: OllamaConfig = OllamaConfig()
    openai: OpenAIConfig = OpenAIConfig()
    sources: dict[str, str] = {}
    """Where each setting came from, for the dashboard: ``environment``, the file's name, or ``default``."""

    @property
    def memory_enabled(self) -> bool:
        return self.memory.embedding_model is not None


def get_config() -> Config:
    """The configuration of this process (``settings.MUSEBOT``)."""
    from django.conf import settings

    config: Config = settings.MUSEBOT
    return config
