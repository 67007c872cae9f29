"""/api/chat and /api/generate."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from .errors import ApiError, Drop
from .formats import generate_messages
from .models import Model
from .schema import sample
from .values import REC, call_id, llama_blob, now, ns, parse_keep_alive


class Chat:
    """Conversations: checks, scripted answers, streams and their failures."""

    async def handle_chat(self, request: web.Request) -> web.StreamResponse:
        return await self.converse(request, "chat")

    async def handle_generate(self, request: web.Request) -> web.StreamResponse:
        return await self.converse(request, "generate")

    async def converse(self, request: web.Request, kind: str) -> web.StreamResponse:
        t0 = time.monotonic()
        rec = request[REC]
        body = await self.body(request)
        name = body.get("model")
        stream = body.get("stream") is not False
        options = body.get("options") or {}
        msgs = [dict(x) for x in body.get("messages") or []] if kind == "chat" else generate_messages(body)
        for x in msgs:
            x["role"] = str(x.get("role", "")).lower()
        tools, fmt, think = body.get("tools") or None, body.get("format") or None, body.get("think")
        if isinstance(think, str) and think not in ("low", "medium", "high", "max"):
            raise ApiError(
                400,
                f'invalid think value: "{think}" (must be "high", "medium", "low", "max", true, or false)',
            )
        last_user = next((x for x in reversed(msgs) if x["role"] == "user"), {})
        facts = {
            "endpoint": kind,
            "model": name,
            "contains": str(last_user.get("content") or ""),
            "stream": stream,
            "any": [str(x.get("content") or "") for x in msgs],
            "system": [x.get("content") for x in msgs if x["role"] == "system"],
            "has_tools": bool(tools),
            "has_format": fmt is not None,
            "has_images": any(x.get("images") for x in msgs),
            "last_role": msgs[-1]["role"] if msgs else None,
            "think": think,
        }
        keep = parse_keep_alive(body.get("keep_alive"))
        m = self.model(name, kind)
        empty = not body.get("messages") if kind == "chat" else not body.get("prompt")
        if empty and body.get("keep_alive") is not None and keep == 0:
            self.loaded.pop(m.full.lower(), None)
            return web.json_response(self.reply_obj(kind, name, "", True, "unload"))
        if "completion" not in m.capabilities:
            raise ApiError(400, f'"{name}" does not support {kind}')
        thinking = "thinking" in m.capabilities
        if think and not thinking:
            raise ApiError(400, f'"{name}" does not support thinking')
        if tools and "tools" not in m.capabilities:
            raise ApiError(400, f"registry.ollama.ai/library/{m.full} does not support tools")
        for k in (
            "temperature",
            "top_p",
            "min_p",
            "num_ctx",
            "num_predict",
            "seed",
            "top_k",
            "repeat_penalty",
        ):
            if isinstance(options.get(k), (str, list, dict)):
                raise ApiError(
                    500,
                    f'option "{k}" must be of type '
                    + ("integer" if k[0] in "ns" or k == "top_k" else "float32"),
                )
        for i, b64 in enumerate(x for msg in msgs for x in msg.get("images") or []):
            try:
                base64.b64decode(b64, validate=True)
            except Exception:
                raise ApiError(
                    400,
                    f"json: cannot unmarshal string into Alias.images.{i} of type api.ImageData: "
                    "illegal base64 data at input byte 0",
                ) from None
        ctx = self.num_ctx(m, options)
        if empty:
            await self.load(m, ctx, keep, {})
            return web.json_response(self.reply_obj(kind, name, "", True, "load"))
        if fmt is not None and fmt != "json" and not isinstance(fmt, dict):
            raise ApiError(
                500,
                "invalid format: "
                + json.dumps(json.dumps(fmt))
                + '; expected "json" or a valid JSON Schema object',
            )
        if (
            isinstance(fmt, dict)
            and isinstance(fmt.get("type"), str)
            and fmt["type"] not in ("object", "array", "string", "number", "integer", "boolean", "null")
        ):
            raise ApiError(
                400,
                llama_blob(
                    400,
                    "Unable to generate parser for this template. Automatic parser generation failed: "
                    "JSON schema error at #: "
                    f"unrecognized type {fmt['type']}",
                    "invalid_request_error",
                ),
            )
        if facts["has_images"] and "vision" not in m.capabilities:
            raise ApiError(
                500,
                llama_blob(
                    500,
                    "image input is not supported - hint: if this is unexpected, "
                    "you may need to provide the mmproj",
                    "server_error",
                ),
            )
        if m.system and msgs[0]["role"] != "system":
            msgs = [{"role": "system", "content": m.system}] + msgs
        kept, prompt_tokens, cut = await self.truncate(
            m, msgs, tools, ctx, body.get("truncate") is not False, body.get("shift") is not False, kind
        )
        rec.update(num_ctx=ctx, prompt_tokens=prompt_tokens, truncated=cut, dropped=len(msgs) - len(kept))
        facts["any"] = [str(x.get("content") or "") for x in kept]
        action = self.pick(facts)
        rec["action"] = action
        if (out := await self.early(request, action)) is not None:
            return out
        load = await self.load(m, ctx, keep, action)
        async with self.slot(m, keep):
            await self.pause(action, "first_delay")
            if m.chat_url and (not action or action.get("pass")):
                gen = self.real_chat(
                    m,
                    kept,
                    tools,
                    fmt,
                    options,
                    think if think is not None else (True if thinking else None),
                    ctx,
                )
            else:
                gen = self.scripted(
                    m, kept, tools, fmt, options, thinking and think is not False, action, prompt_tokens, kind
                )
            return await self.send(request, gen, kind, name, stream, t0, load, action, prompt_tokens)

    def reply_obj(
        self,
        kind: str,
        name: str,
        text: str,
        done: bool,
        reason: str = "",
        *,
        thinking: str = "",
        tool_calls: list | None = None,
        metrics: dict | None = None,
    ) -> dict:
        o: dict = {"model": name, "created_at": now()}
        if kind == "chat":
            msg: dict = {"role": "assistant", "content": text}
            if thinking:
                msg["thinking"] = thinking
            if tool_calls:
                msg["tool_calls"] = [
                    {
                        "id": c.get("id") or call_id(),
                        "function": {"index": i, "name": c["name"], "arguments": c.get("arguments") or {}},
                    }
                    for i, c in enumerate(tool_calls)
                ]
            o["message"] = msg
        else:
            o["response"] = text
            if thinking:
                o["thinking"] = thinking
        o["done"] = done
        if reason:
            o["done_reason"] = reason
        return {**o, **{k: v for k, v in (metrics or {}).items() if v}}

    async def scripted(
        self,
        m: Model,
        msgs: list[dict],
        tools: list | None,
        fmt: Any,
        options: dict,
        thinking: bool,
        action: dict,
        prompt_tokens: int,
        kind: str,
    ) -> AsyncIterator[dict]:
        """Yields {"content"|"thinking"|"tool_calls"} pieces and finally {"done": reason, ...}."""
        last = msgs[-1]
        if "chunks" in action:
            pieces = [str(c) for c in action["chunks"]]
        else:
            if "json" in action:
                text = json.dumps(action["json"], ensure_ascii=False)
            elif "reply" in action:
                text = str(action["reply"])
            elif action.get("tool_calls"):
                text = ""
            elif fmt is not None:
                text = json.dumps(
                    sample(fmt) if isinstance(fmt, dict) else {"echo": str(last.get("content", ""))[:200]},
                    ensure_ascii=False,
                )
            elif last["role"] == "tool":
                text = f"tool said: {str(last.get('content', ''))[:500]}"
            else:
                pics = sum(len(x.get("images") or []) for x in msgs)
                text = f"echo: {str(last.get('content', ''))[:1500]}" + (
                    f" [{pics} image(s)]" if pics else ""
                )
            n = int(action.get("chunk_chars", self.cfg["chunk_chars"])) or len(text) or 1
            pieces = [text[i : i + n] for i in range(0, len(text), n)]
        limit = options.get("num_predict", -1)
        reason = action.get("done_reason", "stop")
        if not isinstance(limit, int) or limit < 0:
            limit = 10 * self.num_ctx(m, options)  # Ollama bounds num_predict -1 by ten context windows
        if len(pieces) > limit:
            pieces, reason = pieces[:limit], "length"
        think_text = action.get("thinking", "I should answer.") if thinking else ""
        sent = 0
        for piece in [{"thinking": w} for w in re.findall(r"\S+\s*", think_text)] + [
            {"content": p} for p in pieces
        ]:
            if sent:
                await self.pause(action, "token_delay")
            yield piece
            sent += 1
        if action.get("tool_calls"):
            yield {"tool_calls": action["tool_calls"]}
            sent += 1
        yield {
            "done": reason,
            "prompt_eval_count": prompt_tokens,
            "eval_count": int(action.get("eval_count", max(sent, 1))),
        }

    async def send(
        self,
        request: web.Request,
        gen: AsyncIterator[dict],
        kind: str,
        name: str,
        stream: bool,
        t0: float,
        load: float,
        action: dict,
        prompt_tokens: int,
    ) -> web.StreamResponse:
        rec = request[REC]
        resp: web.StreamResponse | None = None
        text, thought, calls, n, t1 = "", "", [], 0, time.monotonic()
        t_first = t1
        try:
            async for p in gen:
                if n == 0:
                    t_first = time.monotonic()
                if "done" in p:
                    d = time.monotonic()
                    metrics = {
                        "total_duration": ns(d - t0),
                        "load_duration": ns(load),
                        "prompt_eval_count": p.get("prompt_eval_count", prompt_tokens),
                        "prompt_eval_duration": p.get("prompt_eval_duration") or ns(t_first - t1),
                        "eval_count": p.get("eval_count", 0),
                        "eval_duration": p.get("eval_duration") or ns(d - t_first),
                    }
                    final = self.reply_obj(
                        kind,
                        name,
                        "" if stream else text,
                        True,
                        p["done"],
                        metrics=metrics,
                        thinking="" if stream else thought,
                        tool_calls=None if stream else calls,
                    )
                    if kind == "generate" and not action.get("no_context"):
                        final["context"] = [1, 2, 3]
                    if not stream:
                        rec.update(status=200, reply=text, done_reason=p["done"], tool_calls=calls)
                        return web.json_response(final)
                    if resp is None:
                        resp = await self.ndjson(request)
                    rec.update(status=200, reply=text, done_reason=p["done"], tool_calls=calls)
                    if not action.get("no_done"):
                        await resp.write(json.dumps(final, ensure_ascii=False).encode() + b"\n")
                    break
                text += p.get("content", "")
                thought += p.get("thinking", "")
                calls += p.get("tool_calls", [])
                if "error_after" in action and n >= int(action["error_after"]):
                    raise ApiError(
                        int(action.get("status", 500)),
                        str(
                            action.get(
                                "error", "an error was encountered while running the model: unexpected EOF"
                            )
                        ),
                    )
                if "drop_after" in action and n >= int(action["drop_after"]):
                    raise Drop
                if stream:
                    if resp is None:
                        resp = await self.ndjson(request)
                    if "malformed_after" in action and n >= int(action["malformed_after"]):
                        await resp.write(b'{"model":"x","message":{"role":"assistant","content":"tru\n')
                        break
                    await resp.write(
                        json.dumps(
                            self.reply_obj(
                                kind,
                                name,
                                p.get("content", ""),
                                False,
                                thinking=p.get("thinking", ""),
                                tool_calls=p.get("tool_calls"),
                            ),
                            ensure_ascii=False,
                        ).encode()
                        + b"\n"
                    )
                n += 1
        except ApiError as e:
            rec.update(status=200 if resp else e.status, error=e.message, reply=text)
            if resp is None:
                raise
            await resp.write(json.dumps({"error": e.message}).encode() + b"\n")
        except Drop:
            rec.update(status=0, error="dropped", reply=text)
            if request.transport:
                request.transport.abort()
            return resp or web.Response()
        except (ConnectionResetError, asyncio.CancelledError):
            rec.update(client_gone=True, reply=text)
            raise
        assert resp is not None
        await resp.write_eof()
        return resp

    async def ndjson(self, request: web.Request) -> web.StreamResponse:
        resp = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await resp.prepare(request)
        return resp

    async def pause(self, action: dict, key: str) -> None:
        d = float(action.get(key, self.cfg.get(key, 0)) or 0)
        if d:
            await asyncio.sleep(d)

    async def early(self, request: web.Request, action: dict) -> web.StreamResponse | None:
        if action.get("hang"):
            await asyncio.sleep(3600)
        if "raw_body" in action or "raw_status" in action:
            request[REC].update(status=int(action.get("raw_status", 200)), reply=action.get("raw_body", ""))
            return web.Response(
                status=int(action.get("raw_status", 200)),
                body=str(action.get("raw_body", "")).encode(),
                content_type=action.get("raw_type", "application/json"),
            )
        if "error" in action and "error_after" not in action:
            await self.pause(action, "first_delay")
            raise ApiError(int(action.get("status", 500)), str(action["error"]))
        if action.get("drop_after") == -1:  # cut before any byte
            if request.transport:
                request.transport.abort()
            return web.Response()
        return None
