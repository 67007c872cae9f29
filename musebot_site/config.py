"""Reads the environment and ``config.jsonc`` into one frozen ``memory.conf.Config``. Nothing else reads either.

The file is in Musebot's own keys with ours added, so that an existing file works; the environment wins over it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import json5
from pydantic import SecretBytes, ValidationError

from memory.conf import (
    ChatConfig,
    Config,
    CoreMemorySettings,
    DiscordConfig,
    FactSettings,
    MemorySettings,
    ModelRef,
    OllamaConfig,
    OpenAIConfig,
)
from memory.errors import ConfigurationError
from musebot_site.config_facts import read_facts
from musebot_site.config_rag import read_rag

PROJECT = Path(__file__).resolve().parent.parent
VARIABLES = (
    "MUSEBOT_",
    "DJANGO_",
    "DISCORD_",
    "OLLAMA_",
    "OPENAI_",
    "LLM_",
    "CELERY_",
    "DATABASE_",
    "MEMORY_",
)
"""How the names of our variables begin."""


def load_config(environ: Mapping[str, str] | None = None, project: Path = PROJECT) -> Config:
    """The configuration of this process.

    Raises ``ConfigurationError`` with a message that says what to change.
    """
    env = os.environ if environ is None else environ
    path, bot = _bot_of_file(env, project)
    home = Path(env.get("MUSEBOT_HOME") or project).expanduser().resolve()
    bot_id = str(bot.get("botId") or env.get("MUSEBOT_BOT_ID") or "musebot")
    if bot_id in {".", ".."} or "/" in bot_id or "\\" in bot_id:
        raise ConfigurationError(
            f"The bot id {bot_id!r} becomes the name of a folder; use letters, digits and dashes."
        )
    home.mkdir(parents=True, exist_ok=True)
    sources = _Sources(path.name if path else "")
    sources.note_variables(env)
    sources.note("", bot)
    try:
        return Config(
            bot_id=bot_id,
            home=home,
            database_path=home / "workflows" / bot_id / "txt2txt" / "memory.db",
            database_url=env.get("DATABASE_URL", ""),
            broker_url=env.get("CELERY_BROKER_URL", ""),
            privacy_key=SecretBytes(kept_secret(home, "privacy_key").encode()),
            discord=_discord(env, bot, sources),
            chat=_chat(env, bot, sources),
            memory=_memory(env, bot, sources),
            facts=_facts(bot, _chat(env, bot, sources).model, sources),
            core_memory=_core_memory(env, bot, sources),
            rag=read_rag(
                sources.pick("rag", {}, "", bot.get("rag"), None), base=path.parent if path else home
            ),
            erasure_days=_positive(
                "erasureDays", sources.pick("erasureDays", {}, "", bot.get("erasureDays"), 30)
            ),
            public_url=sources.pick("publicUrl", env, "MUSEBOT_PUBLIC_URL", bot.get("publicUrl"), "").rstrip(
                "/"
            ),
            ollama=OllamaConfig(hosts=_ollama_hosts(env, bot, sources)),
            openai=_openai(env),
            sources=sources.found,
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigurationError(f"The setting {where!r} cannot be used: {first['msg']}.") from error


def kept_secret(home: Path, name: str) -> str:
    """A random secret that is made on first use and kept in ``home/secrets/name``, readable by the owner only."""
    path = home / "secrets" / name
    for _ in range(2):
        try:
            if value := path.read_text().strip():
                return value
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Written aside and linked into place, so that processes that start together agree on one value.
        draft = path.with_name(f".{name}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(48))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        except OSError:
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    return path.read_text().strip()


class _Sources:
    """Remembers where each setting came from, for the dashboard."""

    def __init__(self, file_name: str) -> None:
        self.file_name = file_name
        self.found: dict[str, str] = {}

    def pick(self, name: str, env: Mapping[str, str], variable: str, in_file: Any, default: Any) -> Any:
        if variable and variable in env:
            self.found[name] = variable
            return env[variable]
        if in_file is not None:
            self.found[name] = self.file_name
            return in_file
        self.found[name] = "default"
        return default

    def note_variables(self, env: Mapping[str, str]) -> None:
        """Names of the variables that are set; their values are not kept."""
        self.found |= {name: name for name, value in env.items() if value and name.startswith(VARIABLES)}

    def note(self, prefix: str, block: Mapping[str, Any]) -> None:
        """Names of the keys that the file has, as ``file:chatApis.discord.channels``; their values are not kept."""
        for key, value in block.items():
            self.found[f"file:{prefix}{key}"] = self.file_name
            if isinstance(value, dict):
                self.note(f"{prefix}{key}.", value)


def _bot_of_file(env: Mapping[str, str], project: Path) -> tuple[Path | None, dict[str, Any]]:
    named = env.get("MUSEBOT_CONFIG")
    if named == "":  # set, and empty: no file at all
        return None, {}
    path = Path(named).expanduser() if named else project / "config.jsonc"
    if not path.exists():
        if named:
            raise ConfigurationError(f"MUSEBOT_CONFIG names {named}, and there is no such file.")
        return None, {}
    try:
        data = json5.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, OSError) as error:
        raise ConfigurationError(f"{path.name} cannot be read: {error}") from error
    bots = data.get("bots") if isinstance(data, dict) else None
    if not isinstance(bots, list) or not bots or not all(isinstance(bot, dict) for bot in bots):
        raise ConfigurationError(f'{path.name} needs a list "bots" with one object a bot.')
    wanted = env.get("MUSEBOT_BOT_ID")
    if not wanted:
        return path, bots[0]
    for bot in bots:
        if str(bot.get("botId")) == wanted:
            return path, bot
    known = ", ".join(str(bot.get("botId")) for bot in bots)
    raise ConfigurationError(f"MUSEBOT_BOT_ID is {wanted!r}, but {path.name} has only: {known}.")


def _block(bot: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    value: Any = bot
    for depth, key in enumerate(keys, start=1):
        value = value.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise ConfigurationError(
                f"{'.'.join(keys[:depth])} in config.jsonc has to be an object in braces."
            )
    return dict(value)


def _discord(env: Mapping[str, str], bot: Mapping[str, Any], sources: _Sources) -> DiscordConfig:
    block = _block(bot, "chatApis", "discord")
    token = sources.pick("discord.token", env, "DISCORD_TOKEN", block.get("token"), None)
    return DiscordConfig(
        token=token or None,
        api_base=env.get("DISCORD_API_BASE", "").rstrip("/"),
        client_id=env.get("DISCORD_CLIENT_ID", "").strip(),
        client_secret=env.get("DISCORD_CLIENT_SECRET", "").strip() or None,  # type: ignore[arg-type]
        cdn_hosts=_words(env["DISCORD_CDN_HOSTS"])
        if env.get("DISCORD_CDN_HOSTS")
        else DiscordConfig().cdn_hosts,
        channels=_ids(block, "channels"),
        channels_disallowed=_ids(block, "channelsDisallowed"),
        private_message_users=frozenset(map(str, block.get("privateMessageUsers") or ())),
        requires_mention=sources.pick("requiresMention", env, "", bot.get("requiresMention"), True),
        response_rate=_percentage(sources.pick("responseRate", env, "", bot.get("responseRate"), 100)),
    )


def _chat(env: Mapping[str, str], bot: Mapping[str, Any], sources: _Sources) -> ChatConfig:
    block = _block(bot, "ollama")
    models = block.get("models") or []
    in_file = f"ollama:{models[0]}" if models else None
    reference = sources.pick("chat.model", env, "MUSEBOT_CHAT_MODEL", in_file, "")
    defaults = ChatConfig()
    return ChatConfig(
        model=parse_model(reference, "MUSEBOT_CHAT_MODEL"),
        system_prompt=sources.pick(
            "systemPrompt", env, "", block.get("systemPrompt"), defaults.system_prompt
        ),
        streams_response=sources.pick(
            "streamsResponse", env, "", block.get("streamsResponse"), defaults.streams_response
        ),
        error_message=sources.pick("errorMessage", env, "", bot.get("errorMessage"), defaults.error_message),
        context_window=sources.pick(
            "contextWindow", env, "", block.get("contextWindow"), defaults.context_window
        ),
    )


def _memory(env: Mapping[str, str], bot: Mapping[str, Any], sources: _Sources) -> MemorySettings:
    block = _block(bot, "ollama")
    defaults = MemorySettings()
    vision = sources.pick("vision.model", env, "MUSEBOT_VISION_MODEL", None, "")
    return MemorySettings(
        embedding_model=_embedding_model(env, bot, sources),
        vision_model=parse_model(vision, "MUSEBOT_VISION_MODEL"),
        vision_by_chat_model="MUSEBOT_VISION_MODEL" not in env,
        top_k=_positive("topK", sources.pick("topK", env, "", block.get("topK"), defaults.top_k)),
        token_budget=_positive(
            "tokenBudget",
            sources.pick("tokenBudget", env, "", block.get("tokenBudget"), defaults.token_budget),
        ),
        inject_format=sources.pick(
            "injectFormat", env, "", block.get("injectFormat"), defaults.inject_format
        ),
    )


def _facts(bot: Mapping[str, Any], chat_model: ModelRef | None, sources: _Sources) -> FactSettings:
    return read_facts(sources.pick("memory", {}, "", bot.get("memory"), None), chat_model=chat_model)


def _core_memory(env: Mapping[str, str], bot: Mapping[str, Any], sources: _Sources) -> CoreMemorySettings:
    provider = sources.pick("memoryProvider", env, "MEMORY_PROVIDER", bot.get("memoryProvider"), "") or "flat"
    if provider not in {"flat", "letta"}:
        raise ConfigurationError(f"MEMORY_PROVIDER is {provider!r}; write flat or letta.")
    return CoreMemorySettings(provider=provider)  # type: ignore[arg-type]


def _embedding_model(env: Mapping[str, str], bot: Mapping[str, Any], sources: _Sources) -> ModelRef | None:
    """The environment first, then ``LLM_EMBEDDING_*``, then the file; without any of them the built-in embedder.

    A file whose ``ollama`` block names no embedding model means that long-term memory is off, as in Musebot.
    """
    if "MUSEBOT_EMBEDDING_MODEL" not in env and env.get("LLM_EMBEDDING_MODEL"):
        sources.found["embedding.model"] = "LLM_EMBEDDING_MODEL"
        provider = env.get("LLM_EMBEDDING_PROVIDER") or "openai"
        return parse_model(f"{provider}:{env['LLM_EMBEDDING_MODEL']}", "LLM_EMBEDDING_PROVIDER")
    in_file: str | None = None
    if "ollama" in bot:
        name = _block(bot, "ollama").get("embeddingModel")
        in_file = (name if name in {"local", "hash"} else f"ollama:{name}") if name else ""
    reference = sources.pick("embedding.model", env, "MUSEBOT_EMBEDDING_MODEL", in_file, "local")
    return parse_model(reference, "MUSEBOT_EMBEDDING_MODEL")


def parse_model(reference: str, setting: str) -> ModelRef | None:
    """``ollama:NAME``, ``openai:NAME``, ``local`` or ``hash``; empty gives None."""
    reference = reference.strip()
    if not reference:
        return None
    provider, _, name = reference.partition(":")
    if provider in {"local", "hash"} and not name:
        return ModelRef(provider=provider)  # type: ignore[arg-type]
    if provider in {"ollama", "openai"} and name:
        return ModelRef(provider=provider, name=name)  # type: ignore[arg-type]
    raise ConfigurationError(
        f"{setting} is {reference!r}; write ollama:NAME, openai:NAME or local (or nothing, for none)."
    )


def _ollama_hosts(env: Mapping[str, str], bot: Mapping[str, Any], sources: _Sources) -> tuple[str, ...]:
    in_file = _block(bot, "ollama").get("hosts")
    value = sources.pick("ollama.hosts", env, "OLLAMA_HOSTS", in_file, ())
    hosts = _words(value) if isinstance(value, str) else tuple(map(str, value))
    return tuple(_ollama_url(host) for host in hosts)


def _ollama_url(host: str) -> str:
    """As Ollama's own tools read it: without ``http://`` in front, the port is 11434 where none is given."""
    if "://" in host:
        return host.rstrip("/")
    address, slash, path = host.partition("/")
    has_port = address.rpartition(":")[2].isdigit() and not address.endswith("]")
    return f"http://{address}{'' if has_port else ':11434'}{slash}{path}".rstrip("/")


def _openai(env: Mapping[str, str]) -> OpenAIConfig:
    defaults = OpenAIConfig()
    return OpenAIConfig(
        base_url=(env.get("OPENAI_BASE_URL") or defaults.base_url).rstrip("/"),
        api_key=env.get("OPENAI_API_KEY") or None,  # type: ignore[arg-type]
        embedding_base_url=env.get("LLM_EMBEDDING_BASE_URL", "").rstrip("/"),
        embedding_api_key=env.get("LLM_EMBEDDING_API_KEY") or None,  # type: ignore[arg-type]
    )


def _words(value: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in value.split(",") if word.strip())


def _ids(block: Mapping[str, Any], key: str) -> frozenset[int]:
    try:
        # The example file of Musebot carries placeholders such as YOUR_CHANNEL_ID_1; they name no channel.
        return frozenset(int(value) for value in block.get(key) or () if not str(value).startswith("YOUR_"))
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{key} in config.jsonc has to be a list of channel ids: {error}") from error


def _percentage(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ConfigurationError(f"responseRate is {value!r}; it has to be a percentage from 0 to 100.")
    return int(value)


def _positive(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{key} is {value!r}; it has to be a whole number of at least 1.")
    return int(value)
