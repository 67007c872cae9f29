"""Loading, keep_alive, parallelism, the queue limit, and the context window."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from .errors import ApiError
from .formats import oai_messages
from .models import Model
from .values import BUSY, TOO_LONG, est_tokens, llama_blob


class Scheduling:
    """When a model answers, and how much of the conversation it sees."""

    def expire(self) -> None:
        t = time.monotonic()
        for k in [k for k, v in self.loaded.items() if v["until"] <= t and not v["busy"]]:
            del self.loaded[k]

    async def load(self, m: Model, num_ctx: int, keep: float, action: dict) -> float:
        self.expire()
        key = m.full.lower()
        cur = self.loaded.get(key)
        if cur and cur["num_ctx"] == num_ctx:
            return 0.0004  # a changed num_ctx reloads the model, as in Ollama
        if self.pending >= self.cfg["max_queue"]:
            raise ApiError(503, BUSY)
        self.pending += 1
        try:
            delay = float(action.get("load_delay", self.cfg["load_delay"]))
            if delay:
                await asyncio.sleep(delay)
            while len(self.loaded) >= self.cfg["max_loaded"] and key not in self.loaded:
                self.loaded.pop(min(self.loaded, key=lambda k: self.loaded[k]["until"]))
            self.loaded[key] = {
                "model": m,
                "num_ctx": num_ctx,
                "busy": 0,
                "until": time.monotonic() + keep,
                "expires": datetime.now(UTC) + timedelta(seconds=min(keep, 10**8)),
            }
            return max(delay, 0.0004)
        finally:
            self.pending -= 1

    @contextlib.asynccontextmanager
    async def slot(self, m: Model, keep: float) -> AsyncIterator[None]:
        key = m.full.lower()
        sem = self.sems.setdefault(key, asyncio.Semaphore(max(1, int(self.cfg["num_parallel"]))))
        async with sem:
            ref = self.loaded.get(key)
            if ref:
                ref["busy"] += 1
            self.active += 1
            try:
                yield
            finally:
                self.active -= 1
                if ref:
                    ref["busy"] -= 1
                    ref["until"] = time.monotonic() + keep
                    ref["expires"] = datetime.now(UTC) + timedelta(seconds=min(keep, 10**8))
                    if keep <= 0:
                        self.loaded.pop(key, None)

    def num_ctx(self, m: Model, options: dict) -> int:
        n = options.get("num_ctx") or m.num_ctx or self.cfg["num_ctx"]
        n = max(4, int(n))
        if "vision" in m.capabilities:
            n = max(n, 2048)
        return min(n, m.context_length)

    async def count(self, m: Model, msgs: list[dict], tools: list | None) -> int:
        if m.chat_url:
            with contextlib.suppress(Exception):
                p = await self._post(
                    m.chat_url + "/apply-template",
                    {"messages": oai_messages(msgs, False), "tools": tools or None},
                )
                return len(
                    (
                        await self._post(
                            m.chat_url + "/tokenize", {"content": p["prompt"], "add_special": True}
                        )
                    )["tokens"]
                )
        return sum(
            4
            + est_tokens(str(x.get("content") or ""))
            + est_tokens(json.dumps(x["tool_calls"]) if x.get("tool_calls") else "")
            for x in msgs
        ) + est_tokens(json.dumps(tools) if tools else "")

    async def truncate(
        self,
        m: Model,
        msgs: list[dict],
        tools: list | None,
        ctx: int,
        on: bool,
        shift: bool,
        kind: str = "chat",
    ) -> tuple[list[dict], int, bool]:
        """What the model gets to see: (messages, prompt tokens, was anything dropped)."""

        async def size(ms: list[dict]) -> int:
            n = await self.count(m, ms, tools)
            return n + (
                768 * sum(len(x.get("images") or []) for x in ms) if "vision" in m.capabilities else 0
            )

        def too_long(n: int) -> ApiError:
            return ApiError(
                400,
                llama_blob(
                    400,
                    f"request ({n} tokens) exceeds the available context size ({ctx} tokens), "
                    "try increasing it",
                    "exceed_context_size_error",
                    n_prompt_tokens=n,
                    n_ctx=ctx,
                ),
            )

        n, kept = await size(msgs), msgs
        if n < ctx:
            return msgs, n, False
        if not on:
            raise too_long(n)
        for i in range(1, len(msgs)):
            if n <= ctx:
                break
            kept = [x for x in msgs[:i] if x.get("role") == "system"] + msgs[i:]
            n = await size(kept)
        if n < ctx:
            return kept, n, True
        if m.native and kind == "chat":
            raise too_long(n)
        if not (shift and m.shift):
            raise ApiError(400, TOO_LONG)
        limit = ctx - max(
            (ctx - 4) // 2, 1
        )  # num_keep 4 tokens plus the newest half of the window; the reply says nothing about it
        last = {
            **kept[-1],
            "content": str(kept[-1].get("content") or "")
            .encode()[-(limit - 4) * 4 :]
            .decode(errors="ignore"),
        }
        return [last], limit, True
