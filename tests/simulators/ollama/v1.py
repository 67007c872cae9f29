"""The OpenAI-compatible side: /v1/models, /v1/embeddings, /v1/chat/completions."""

from __future__ import annotations

import base64
import json
import random
import time

from aiohttp import web

from .errors import ApiError
from .formats import from_oai, sse
from .values import REC, call_id
from .vectors import unit


class V1:
    """OpenAI-compatible routes."""

    async def handle_v1_models(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(
            {
                "object": "list",
                "data": [
                    {"id": m.full, "object": "model", "created": 1787338102, "owned_by": "library"}
                    for m in self.models.values()
                ],
            }
        )

    async def handle_v1_embeddings(self, request: web.Request) -> web.StreamResponse:
        body = await self.body(request)
        inp = body.get("input")
        texts = [inp] if isinstance(inp, str) else list(inp or [])
        if not texts:
            raise ApiError(400, "invalid input")
        m = self.model(body.get("model"), "embed")
        action = self.pick(
            {
                "endpoint": "v1_embeddings",
                "model": body.get("model"),
                "contains": "\n".join(texts),
                "any": texts,
            }
        )
        if (out := await self.early(request, action)) is not None:
            return out
        vecs, total = await self.vectors(m, texts, action, True, {})
        d = int(body.get("dimensions") or 0)
        vecs = [unit(v[:d]) for v in vecs] if 0 < d < m.embedding_length else vecs
        if body.get("encoding_format") == "base64":  # the openai client's default
            import struct

            data: list = [base64.b64encode(struct.pack(f"<{len(v)}f", *v)).decode() for v in vecs]
        else:
            data = vecs
        return web.json_response(
            {
                "object": "list",
                "data": [{"object": "embedding", "embedding": v, "index": i} for i, v in enumerate(data)],
                "model": body.get("model"),
                "usage": {"prompt_tokens": total, "total_tokens": total},
            }
        )

    async def handle_v1_chat(self, request: web.Request) -> web.StreamResponse:
        rec = request[REC]
        body = await self.body(request)
        name = body.get("model")
        m = self.model(name, "chat")
        msgs, tools = from_oai(body.get("messages") or []), body.get("tools") or None
        rf = body.get("response_format") or {}
        fmt = {"json_object": "json", "json_schema": (rf.get("json_schema") or {}).get("schema")}.get(
            rf.get("type", "")
        )
        if "completion" not in m.capabilities:
            raise ApiError(400, f'"{name}" does not support chat')
        if tools and "tools" not in m.capabilities:
            raise ApiError(400, f"registry.ollama.ai/library/{m.full} does not support tools")
        options = {
            "num_predict": body.get("max_completion_tokens") or body.get("max_tokens") or -1,
            **{
                k: body[k]
                for k in ("temperature", "top_p", "seed", "stop", "presence_penalty", "frequency_penalty")
                if body.get(k) is not None
            },
        }
        ctx = self.num_ctx(m, {})
        kept, ptok, cut = await self.truncate(m, msgs, tools, ctx, True, True)
        last_user = next((x for x in reversed(kept) if x["role"] == "user"), {})
        action = self.pick(
            {
                "endpoint": "v1_chat",
                "model": name,
                "contains": str(last_user.get("content") or ""),
                "any": [str(x.get("content")) for x in kept],
                "system": [x.get("content") for x in kept if x["role"] == "system"],
                "has_tools": bool(tools),
                "has_format": fmt is not None,
                "has_images": any(x.get("images") for x in kept),
                "last_role": kept[-1]["role"] if kept else None,
                "stream": bool(body.get("stream")),
            }
        )
        rec.update(action=action, truncated=cut, prompt_tokens=ptok)
        if (out := await self.early(request, action)) is not None:
            return out
        await self.load(m, ctx, 300, action)
        cid, created = f"chatcmpl-{random.randint(1, 999)}", int(time.time())
        base = {
            "id": cid,
            "object": "chat.completion",
            "created": created,
            "model": name,
            "system_fingerprint": "fp_ollama",
        }
        async with self.slot(m, 300):
            await self.pause(action, "first_delay")
            real = m.chat_url and (not action or action.get("pass"))
            gen = (
                self.real_chat(m, kept, tools, fmt, options, None, ctx)
                if real
                else self.scripted(
                    m, kept, tools, fmt, options, "thinking" in m.capabilities, action, ptok, "chat"
                )
            )

            def oai_calls(cs: list[dict]) -> list[dict]:
                return [
                    {
                        "id": c.get("id") or call_id(),
                        "index": i,
                        "type": "function",
                        "function": {"name": c["name"], "arguments": json.dumps(c.get("arguments") or {})},
                    }
                    for i, c in enumerate(cs)
                ]

            resp = None
            text, calls, n, usage, reason = "", [], 0, {}, "stop"
            async for p in gen:
                if "done" in p:
                    reason = "tool_calls" if calls else p["done"]
                    usage = {
                        "prompt_tokens": p.get("prompt_eval_count", 0),
                        "completion_tokens": p.get("eval_count", 0),
                        "total_tokens": p.get("prompt_eval_count", 0) + p.get("eval_count", 0),
                    }
                    continue
                text += p.get("content", "")
                calls += p.get("tool_calls", [])
                if "drop_after" in action and n >= int(action["drop_after"]):
                    request.transport and request.transport.abort()
                    return resp or web.Response()
                if body.get("stream"):
                    if resp is None:
                        resp = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
                        await resp.prepare(request)
                    delta: dict = {"role": "assistant", "content": p.get("content", "")}
                    if p.get("thinking"):
                        delta["reasoning"] = p["thinking"]
                    if p.get("tool_calls"):
                        delta["tool_calls"] = oai_calls(p["tool_calls"])
                    await resp.write(
                        sse(
                            {
                                **base,
                                "object": "chat.completion.chunk",
                                "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
                            }
                        )
                    )
                n += 1
            rec.update(status=200, reply=text, tool_calls=calls, done_reason=reason)
            if not body.get("stream"):
                msg: dict = {"role": "assistant", "content": text}
                if calls:
                    msg["tool_calls"] = oai_calls(calls)
                return web.json_response(
                    {
                        **base,
                        "choices": [{"index": 0, "message": msg, "finish_reason": reason}],
                        "usage": usage,
                    }
                )
            if resp is None:
                resp = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
                await resp.prepare(request)
            await resp.write(
                sse(
                    {
                        **base,
                        "object": "chat.completion.chunk",
                        "choices": [
                            {
                                "index": 0,
                                "delta": {"role": "assistant", "content": ""},
                                "finish_reason": reason,
                            }
                        ],
                    }
                )
            )
            if (body.get("stream_options") or {}).get("include_usage"):
                await resp.write(
                    sse({**base, "object": "chat.completion.chunk", "choices": [], "usage": usage})
                )
            await resp.write(b"data: [DONE]\n\n")
            await resp.write_eof()
            return resp
