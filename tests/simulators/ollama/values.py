"""Small values of the wire format: times, token estimates, names, durations, error texts."""

from __future__ import annotations

import json
import math
import random
import re
import string
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from .errors import ApiError

VERSION = "0.32.9"
# the record of a request travels with it under this key
REC: Any = web.RequestKey("rec", dict) if hasattr(web, "RequestKey") else "rec"
MAX_KEEP = 10**9
BUSY = "server busy, please try again.  maximum pending requests exceeded"
GO_TYPE = {
    "chat": "ChatRequest",
    "generate": "GenerateRequest",
    "embed": "EmbedRequest",
    "embeddings": "EmbeddingRequest",
    "show": "ShowRequest",
}
TOO_LONG = (
    "the prompt is longer than the context length currently available to the model; shorten the prompt, "
    "adjust the context length in settings, or use a model with a longer context length"
)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"


def ns(seconds: float) -> int:
    return max(1, int(seconds * 1e9))


def est_tokens(text: str) -> int:
    return math.ceil(len(text.encode()) / 4) if text else 0


def call_id() -> str:
    return "call_" + "".join(random.choices(string.ascii_lowercase + string.digits, k=8))


def norm_name(name: str) -> str:
    name = name.strip()
    for prefix in ("registry.ollama.ai/library/", "registry.ollama.ai/"):
        if name.lower().startswith(prefix):
            name = name[len(prefix) :]
    if ":" not in name.rsplit("/", 1)[-1]:
        name += ":latest"
    return name


_UNIT = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


def parse_keep_alive(v: Any) -> float:
    """Seconds; negative means 'for ever'. Numbers are seconds, strings Go durations ("5m", "-1s")."""
    if v is None:
        return 300.0
    if isinstance(v, bool) or not isinstance(v, (int, float, str)):
        raise ApiError(400, f"Unsupported type: '{type(v).__name__}'")
    if isinstance(v, (int, float)):
        return MAX_KEEP if v < 0 else float(v)
    s = v.strip()
    sign = -1 if s.startswith("-") else 1
    body = s.lstrip("+-")
    if body == "0":
        return 0.0
    parts = re.findall(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)", body)
    if not parts or "".join(a + b for a, b in parts) != body:
        if re.fullmatch(r"\d+(\.\d+)?", body):
            raise ApiError(400, f'time: missing unit in duration "{v}"')
        if u := re.fullmatch(r"[\d.]+([a-zA-Z]+)", body):
            raise ApiError(400, f'time: unknown unit "{u[1]}" in duration "{v}"')
        raise ApiError(400, f'time: invalid duration "{v}"')
    total = sign * sum(float(a) * _UNIT[b] for a, b in parts)
    return MAX_KEEP if total < 0 else total


def llama_blob(status: int, message: str, kind: str, **extra: Any) -> str:
    """Ollama 0.32 hands llama-server's error on as it came: a JSON document inside the "error" string."""
    return json.dumps(
        {"error": {"code": status, "message": message, "type": kind, **extra}}, separators=(",", ":")
    )
