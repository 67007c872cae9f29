"""Whatever goes wrong between here and an Ollama server, as one of ``memory.errors``.

Texts of errors can hold what a member wrote (a model's unreadable tool call is quoted in one), so what is quoted is left out.
"""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import ollama

from memory.errors import (
    ContextTooLong,
    ModelMissing,
    ModelRejected,
    ModelReplyInvalid,
    ModelTimeout,
    ModelUnavailable,
    MusebotError,
)

_TOO_LONG = re.compile(
    r"exceed_context_size_error|exceeds the available context|longer than the context length"
    r"|exceeds the context length|exceeds? the (model's )?maximum context|context_length_exceeded|maximum context length"
    r"|input length exceeds|too large to process",
    re.I,
)
_REFUSED = re.compile(
    r"does not support|not supported|invalid (format|model name|input|think|message)|must be of type|unsupported|illegal base64",
    re.I,
)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\b(raw|prompt|content|input|text)\s*[:=].*", re.I | re.S)
MAX_REASON = 160


class HostBusy(ModelUnavailable):
    """The host has too many requests waiting."""


def translate(error: BaseException, *, host: str, model: str) -> MusebotError:
    """The fitting error of ``memory.errors``; one that is of them already comes back as it is."""
    if isinstance(error, MusebotError):
        return error
    if isinstance(error, ollama.ResponseError):
        return from_reply(error.status_code, error.error, host=host, model=model, server="Ollama")
    if isinstance(error, httpx.ConnectTimeout | ConnectionError | httpx.ConnectError):
        return ModelUnavailable(
            f"Ollama at {host} cannot be reached. Is it running, and is the address right?", host=host
        )
    if isinstance(error, httpx.TimeoutException):
        return ModelTimeout(f"Ollama at {host} did not answer in time.", host=host)
    if isinstance(error, httpx.TransportError):
        return ModelUnavailable(
            f"The connection to Ollama at {host} broke off ({type(error).__name__}).", host=host
        )
    # Anything else was raised while the answer was read: no JSON, a list, a field that is missing.
    return ModelReplyInvalid(
        f"What answers at {host} is not in Ollama's form ({type(error).__name__}). Is it Ollama, or a proxy's page?",
        host=host,
    )


def from_reply(status: int, text: Any, *, host: str, model: str, server: str) -> MusebotError:
    """The error for a server's error reply. ``status`` is -1 for a line within a stream."""
    full = flatten(text)
    reason = public_reason(full)
    where = {"host": host, "status": status}
    if _TOO_LONG.search(full):
        return ContextTooLong("The text does not fit into the model's context window.", **where)
    if status in {401, 403, 407}:
        hint = (
            " A reverse proxy has to rewrite the Host header." if status == 403 and not full.strip() else ""
        )
        return ModelUnavailable(f"{server} at {host} refuses access ({status}).{hint}", **where)
    if status == 404 and (not full or "not found" in full.lower()) and not _is_page(full):
        return ModelMissing(
            f"{server} at {host} does not have the model {model}."
            + (f" Run: ollama pull {model}" if server == "Ollama" else ""),
            **where,
        )
    if status in {429, 503}:
        return HostBusy(f"{server} at {host} is busy{reason}.", **where)
    if status in {408, 504}:
        return ModelTimeout(f"{server} at {host} did not answer in time ({status}).", **where)
    if _is_page(full):
        return ModelReplyInvalid(
            f"A web page answers at {host} ({status}). Is the address that of a proxy?", **where
        )
    if status == 501 or (status != -1 and _REFUSED.search(full)) or 400 <= status < 500:
        return ModelRejected(f"{server} refused the request to {model} ({status}){reason}.", **where)
    if status == -1:
        return ModelReplyInvalid(f"{server} at {host} failed while it answered{reason}.", **where)
    return ModelUnavailable(f"{server} at {host} failed ({status}){reason}.", **where)


def flatten(text: Any) -> str:
    """The words of an error, whichever way they are wrapped: newer servers send JSON inside a string inside JSON."""
    found: Any = text
    for _ in range(6):
        if isinstance(found, str) and found.lstrip().startswith("{"):
            try:
                found = json.loads(found)
            except ValueError:
                break
        elif isinstance(found, dict) and "error" in found:
            found = found["error"]
        else:
            break
    if isinstance(found, dict):
        return " ".join(str(found[key]) for key in ("type", "code", "message") if found.get(key))
    return "" if found is None else str(found)


def public_reason(text: str) -> str:
    """What can be shown and logged of an error's words, as ``: reason``; empty if that is nothing."""
    if _is_page(text):
        return ""
    words = " ".join(_QUOTED.sub("…", text).split())[:MAX_REASON].rstrip(" .:")
    return f": {words}" if words.strip("… ") else ""


def _is_page(text: str) -> bool:
    return text.lstrip()[:200].lower().startswith(("<!doctype", "<html", "<head", "<?xml"))
