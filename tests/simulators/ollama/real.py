"""Real models behind a llama.cpp server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import ClientSession, ClientTimeout

from .errors import ApiError
from .formats import bare_tool_calls, llama_error, oai_messages
from .models import Model
from .vectors import make_embedder, unit


class Real:
    """Forwards conversations and embeddings."""

    async def _post(self, url: str, payload: dict) -> dict:
        async with self.http.post(url, json=payload) as r:
            if r.status >= 400:
                raise ApiError(r.status, llama_error(await r.text()))
            return await r.json()

    @property
    def http(self) -> ClientSession:
        if self._http is None or self._http.closed:
            self._http = ClientSession(timeout=ClientTimeout(total=None, connect=10))
        return self._http

    async def real_chat(
        self, m: Model, msgs: list[dict], tools: list | None, fmt: Any, options: dict, think: Any, ctx: int
    ) -> AsyncIterator[dict]:
        body: dict = {
            "messages": oai_messages(msgs, "vision" in m.capabilities),
            "stream": True,
            "cache_prompt": True,
            "stream_options": {"include_usage": True},
            "temperature": options.get("temperature", 0.8),
            "top_k": options.get("top_k", 40),
            "top_p": options.get("top_p", 0.9),
            "max_tokens": ctx,
        }
        for k in (
            "seed",
            "stop",
            "min_p",
            "typical_p",
            "presence_penalty",
            "frequency_penalty",
            "repeat_penalty",
            "repeat_last_n",
        ):
            if options.get(k) is not None:
                body[k] = options[k]
        n = options.get("num_predict", -1)
        if isinstance(n, int) and n >= 0:
            body["max_tokens"] = min(n, ctx) or 1
        if tools:
            body["tools"] = tools
        if fmt == "json":
            body["response_format"] = {"type": "json_object"}
        elif isinstance(fmt, dict):
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "format", "schema": fmt},
            }
        if think is not None:
            body["chat_template_kwargs"] = {"enable_thinking": bool(think)}
        calls: dict[int, dict] = {}
        reason, t, held = "stop", {}, ""
        names = {f["function"]["name"] for f in tools or [] if f.get("function")}
        async with self.http.post(m.chat_url + "/v1/chat/completions", json=body) as r:
            if r.status >= 400:
                raise ApiError(r.status, llama_error(await r.text()))
            async for raw in r.content:
                line = raw.decode(errors="replace").strip()
                if not line.startswith("data:") or line.endswith("[DONE]"):
                    continue
                ev = json.loads(line[5:])
                if "error" in ev:
                    raise ApiError(500, llama_error(json.dumps(ev)))
                t = ev.get("timings") or t
                for ch in ev.get("choices", []):
                    d = ch.get("delta") or {}
                    if d.get("reasoning_content"):
                        yield {"thinking": d["reasoning_content"]}
                    if d.get("content"):
                        # small models often write the call as bare JSON: hold text that starts like one
                        # (as Ollama's parser does)
                        if names and (held or d["content"].lstrip()[:1] in ("{", "<")):
                            held += d["content"]
                        else:
                            yield {"content": d["content"]}
                    for tc in d.get("tool_calls") or []:
                        c = calls.setdefault(tc.get("index", 0), {"id": "", "name": "", "arguments": ""})
                        c["id"] = c["id"] or tc.get("id", "")
                        f = tc.get("function") or {}
                        c["name"] += f.get("name") or ""
                        c["arguments"] += f.get("arguments") or ""
                    if ch.get("finish_reason"):
                        reason = "length" if ch["finish_reason"] == "length" else "stop"
        if held:
            bare = bare_tool_calls(held, names)
            if bare:
                yield {"tool_calls": bare}
            else:
                yield {"content": held}
        if calls:
            out = []
            for _, c in sorted(calls.items()):
                try:
                    args = json.loads(c["arguments"] or "{}")
                except ValueError:
                    raise ApiError(500, f"error parsing tool call: raw='{c['arguments']}'") from None
                out.append({"id": "", "name": c["name"], "arguments": args if isinstance(args, dict) else {}})
            yield {"tool_calls": out}
        yield {
            "done": reason,
            "prompt_eval_count": t.get("prompt_n", 0) + t.get("cache_n", 0),
            "eval_count": t.get("predicted_n", 0),
            "prompt_eval_duration": int(t.get("prompt_ms", 0) * 1e6),
            "eval_duration": int(t.get("predicted_ms", 0) * 1e6),
        }

    async def real_embed(self, spec: str, texts: list[str]) -> list[list[float]]:
        if spec.startswith("http"):
            d = await self._post(spec.rstrip("/") + "/v1/embeddings", {"input": texts, "model": "x"})
            return [unit(x["embedding"]) for x in sorted(d["data"], key=lambda x: x["index"])]
        if spec not in self._embedders:
            self._embedders[spec] = await asyncio.to_thread(make_embedder, spec)
        return await asyncio.to_thread(self._embedders[spec], texts)
