"""Test connection: one look at a part that the installation leans on, now, with a time limit, and without any secret in the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import httpx
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.utils.module_loading import import_string

from memory import backends
from memory.conf import get_config
from memory.errors import InvalidInput, MusebotError
from musebot_site.effective import without_credentials

SECONDS = 10.0
"""How long Discord and the broker may take; models have limits of their own."""
DISCORD_API = "https://discord.com/api/v10"

State = Literal["ok", "attention", "failed", "off"]


@dataclass(frozen=True, slots=True)
class Tested:
    """What a look at a part found."""

    state: State
    word: str
    detail: str = ""
    milliseconds: float | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """A part that can be looked at."""

    name: str
    title: str
    what: str
    """What is configured, without secrets."""
    result: Tested | None = None


def connections() -> list[Connection]:
    """All parts, with what is configured of each; nothing is asked."""
    return [Connection(name, title, what()) for name, (title, what, _) in _PARTS.items()]


def test(name: str) -> Connection:
    """Looks at one part. Raises ``InvalidInput`` for one that does not exist; what fails is in the result."""
    if name not in _PARTS:
        raise InvalidInput("There is no such connection to test.")
    title, what, look = _PARTS[name]
    began = time.perf_counter()
    try:
        found = look()
    except MusebotError as error:
        found = Tested("failed", "Failed", without_credentials(error.message))
    milliseconds = (time.perf_counter() - began) * 1000
    asked = found.state in {"ok", "failed"}
    return Connection(
        name,
        title,
        what(),
        Tested(found.state, found.word, found.detail, milliseconds if asked else None),
    )


def _hosts(found: Mapping[str, Any]) -> str:
    """Of several hosts, what each said."""
    hosts = [host for host in found.get("hosts", ()) if isinstance(host, Mapping)]
    said = [
        f"{without_credentials(str(host.get('host', '')))}: "
        + (
            str(host.get("error") or "")
            or ("has the model" if host.get("has_model") else "answers, without the model")
        )
        for host in hosts
    ]
    return "; ".join(said) if len(hosts) > 1 else ""


def _of_model(found: Mapping[str, Any]) -> Tested:
    detail = _hosts(found) or str(found.get("message") or "")
    if found.get("ok"):
        return Tested("ok", "Answers", detail)
    return Tested("failed", "Does not answer", detail or "Start it, or see whether its address is right.")


def _chat() -> Tested:
    model = backends.chat_model()
    if model is None:
        return Tested(
            "off", "Not connected", "Answers are put together from memories. Set MUSEBOT_CHAT_MODEL."
        )
    return _of_model(model.check())


def _embedder() -> Tested:
    if not get_config().memory_enabled:
        return Tested(
            "off", "Off", "Long-term memory is off. Set MUSEBOT_EMBEDDING_MODEL=local to switch it on."
        )
    embedder = backends.embedder()
    found = _of_model(embedder.check())
    if found.state != "ok":
        return found
    dimension = len(embedder.embed_query("Is anybody there?"))
    return Tested("ok", "Embeds", f"{dimension} dimensions. {found.detail}".strip())


def _vision() -> Tested:
    if not backends.describes_images():
        return Tested(
            "off",
            "Off",
            "Images are not described. Set MUSEBOT_VISION_MODEL, or a chat model of Ollama that can see.",
        )
    model = backends.vision_model()
    check = getattr(getattr(model, "_chat", model), "check", None)
    return _of_model(check()) if callable(check) else Tested("ok", "Set up")


def _discord() -> Tested:
    config = get_config().discord
    if config.token is None:
        return Tested("off", "No token", "Set DISCORD_TOKEN and start again.")
    headers = {"Authorization": f"Bot {config.token.get_secret_value()}"}
    try:
        answer = httpx.get(
            f"{config.api_base or DISCORD_API}/users/@me",
            headers=headers,
            timeout=SECONDS,
            follow_redirects=False,
        )
        if answer.status_code == 401:
            return Tested(
                "failed",
                "Token refused",
                "Make a new token in Discord's developer portal, and set it as DISCORD_TOKEN.",
            )
        if answer.status_code == 429:
            return Tested("attention", "Busy", "Discord asks to wait. Try again in a minute.")
        if answer.status_code != 200:
            return Tested(
                "failed",
                f"Status {answer.status_code}",
                "Discord, or what stands in its place, does not answer as it should.",
            )
        return Tested("ok", "Signed in", f"as {str(answer.json()['username'])[:80]}")
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        return Tested(
            "failed", "Does not answer", f"{type(error).__name__}. See whether this machine reaches Discord."
        )


def _broker() -> Tested:
    broker = None
    try:
        broker = import_string(settings.CELERY_APP).connection_for_write()
        broker.ensure_connection(max_retries=1, interval_start=0, timeout=int(SECONDS))
        return Tested("ok", "Takes wake-ups")
    except Exception as error:  # each transport raises errors of its own library
        hint = "Work is found by the sweep until it is back. See whether it runs, and CELERY_BROKER_URL."
        return Tested("failed", "Does not answer", f"{type(error).__name__}. {hint}")
    finally:
        if broker is not None:
            broker.release()


def _database() -> Tested:
    """Reads, and takes the place of the one who writes for a moment; nothing is written."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM memory_guild")
                cursor.execute("UPDATE memory_guild SET name = name WHERE ordinal = -1")
            transaction.set_rollback(True)
    except DatabaseError as error:
        return Tested("failed", "Failed", f"{type(error).__name__}: look at the log of the dashboard.")
    return Tested("ok", "Reads and writes", connection.vendor)


def _model(name: Callable[[], Any]) -> Callable[[], str]:
    return lambda: str(name() or "none")


_Part = tuple[str, Callable[[], str], Callable[[], Tested]]
_PARTS: dict[str, _Part] = {
    "chat": ("Language model", _model(lambda: get_config().chat.model), _chat),
    "embedding": ("Embedding model", _model(lambda: get_config().memory.embedding_model), _embedder),
    "vision": ("Vision model", _model(lambda: get_config().memory.vision_model), _vision),
    "discord": (
        "Discord",
        lambda: without_credentials(get_config().discord.api_base or DISCORD_API),
        _discord,
    ),
    "broker": ("Broker", lambda: without_credentials(get_config().broker_url) or "embedded", _broker),
    "database": ("Database", lambda: connection.vendor, _database),
}
