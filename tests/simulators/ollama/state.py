"""Models, rules, settings and recorded requests."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import re
from typing import Any

from aiohttp import ClientSession

from .errors import ApiError
from .models import Model, default_models
from .values import VERSION, norm_name


class State:
    """What the server knows, and which rule applies to a request."""

    DEFAULTS = {
        "token_delay": 0.0,
        "first_delay": 0.0,
        "load_delay": 0.0,
        "chunk_chars": 4,
        "num_parallel": 1,
        "max_queue": 512,
        "num_ctx": 4096,
        "max_loaded": 3,
        "prompt_tps": 0.0,
        "version": VERSION,
        "capabilities_in_tags": True,
    }

    def __init__(self, models: list[Model] | None = None, **settings: Any):
        self._models0 = models if models is not None else default_models()
        self._settings0 = {**self.DEFAULTS, **settings}
        self.base_url = ""
        self._http: ClientSession | None = None
        self._embedders: dict[str, Any] = {}
        self.reset()

    def reset(self) -> None:
        self.models = {m.full.lower(): dataclasses.replace(m) for m in self._models0}
        self.cfg = dict(self._settings0)
        self.rules: list[dict] = []
        self.requests: list[dict] = []
        self.loaded: dict[str, dict] = {}
        self.sems: dict[str, asyncio.Semaphore] = {}
        self.pending = 0
        self.active = 0

    @property
    def url(self) -> str:
        return self.base_url

    def on(
        self,
        match: dict | None = None,
        action: dict | None = None,
        *,
        times: int = -1,
        skip: int = 0,
        front: bool = False,
    ) -> None:
        rule = {"match": match or {}, "action": action or {}, "times": times, "skip": skip, "hits": 0}
        self.rules.insert(0, rule) if front else self.rules.append(rule)

    def add_model(self, name: str, **kw: Any) -> None:
        m = Model(name, **kw)
        self.models[m.full.lower()] = m

    def remove_model(self, name: str) -> bool:
        self.loaded.pop(norm_name(name).lower(), None)
        return self.models.pop(norm_name(name).lower(), None) is not None

    def calls(self, endpoint: str | None = None) -> list[dict]:
        return [r for r in self.requests if endpoint in (None, r["endpoint"])]

    def model(self, name: Any, style: str) -> Model:
        if not isinstance(name, str) or not name.strip():
            if style in ("chat", "show"):
                raise ApiError(400, "model is required")
            raise ApiError(404, f"model '{name or ''}' not found")
        if not re.fullmatch(r"[\w./:@-]{1,350}", name):
            raise ApiError(400, "invalid model name")
        m = self.models.get(norm_name(name).lower())
        if m is None:
            if style == "embed":
                raise ApiError(404, f'model "{name}" not found, try pulling it first')
            raise ApiError(404, f"model '{norm_name(name) if style == 'show' else name}' not found")
        return m

    def pick(self, facts: dict) -> dict:
        inline = re.search(r"\[\[sim (\{.*\})\]\]", facts.get("contains") or "", re.S)
        for r in self.rules:
            if r["times"] == 0:
                continue
            for k, want in r["match"].items():
                have = facts.get(k)
                if isinstance(want, bool) or want is None:
                    if bool(have) != bool(want):
                        break
                elif isinstance(have, list):
                    if not any(re.search(str(want), str(h), re.S | re.I) for h in have):
                        break
                elif have is None or not re.search(str(want), str(have), re.S | re.I):
                    break
            else:
                if r["skip"] > 0:
                    r["skip"] -= 1
                    continue
                r["hits"] += 1
                if r["times"] > 0:
                    r["times"] -= 1
                return r["action"]
        if inline:
            with contextlib.suppress(ValueError):
                return json.loads(inline.group(1))
        return {}
