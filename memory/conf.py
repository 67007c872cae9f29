"""The configuration as one frozen object. ``musebot_site.config`` fills it; everything else reads it here."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, SecretBytes, SecretStr

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
    top_k: int = 24
    token_budget: int = 400
    """Tokens that recalled memories may take in a prompt."""
    inject_format: Literal["lines", "json"] = "lines"
    recall_timeout: float = 5.0


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
    database_url: str = ""
    broker_url: str = ""
    """Empty for the embedded broker."""
    privacy_key: SecretBytes
    discord: DiscordConfig = DiscordConfig()
    chat: ChatConfig = ChatConfig()
    memory: MemorySettings = MemorySettings()
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
