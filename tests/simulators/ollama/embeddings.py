"""/api/embed and /api/embeddings."""

from __future__ import annotations

import time

from aiohttp import web

from .errors import ApiError
from .models import Model
from .values import REC, est_tokens, ns, parse_keep_alive
from .vectors import hash_embed, unit


class Embeddings:
    """Embeddings, right or wrong."""

    async def vectors(
        self, m: Model, texts: list[str], action: dict, truncate: bool, options: dict
    ) -> tuple[list[list[float]], int]:
        ctx = min(self.num_ctx(m, options), m.context_length)
        total, cut = 0, []
        for t in texts:
            n = est_tokens(t) + 2
            if n > ctx and not truncate:
                raise ApiError(400, "the input length exceeds the context length")
            cut.append(t if n <= ctx else t.encode()[: (ctx - 2) * 4].decode(errors="ignore"))
            total += min(n, ctx)
        e = action.get("embeddings") or {}
        if "values" in e:
            return e["values"], total
        if e.get("nan"):
            raise ApiError(400, "embedding contains NaN or Inf values")
        dims = int(e.get("dims", m.embedding_length))
        if e.get("zero"):
            vecs = [[0.0] * dims for _ in cut]
        elif m.embedder and "dims" not in e:
            vecs = await self.real_embed(m.embedder, cut)
        else:
            vecs = [hash_embed(t, dims) for t in cut]
        if e.get("count_delta"):
            k = len(vecs) + int(e["count_delta"])
            vecs = (vecs * 2)[: max(k, 0)]
        return vecs, total

    async def handle_embed(self, request: web.Request) -> web.StreamResponse:
        t0 = time.monotonic()
        body = await self.body(request)
        inp, name = body.get("input"), body.get("model")
        if isinstance(inp, str):
            texts = [inp] if inp else []
        elif inp is None:
            texts = []
        elif isinstance(inp, list) and all(isinstance(x, str) for x in inp):
            texts = list(inp)
        else:
            raise ApiError(400, "invalid input type")
        keep = parse_keep_alive(body.get("keep_alive"))
        m = self.model(name, "embed")
        if "embedding" not in m.capabilities and texts:
            raise ApiError(501, "This server does not support embeddings. Start it with `--embeddings`")
        action = self.pick({"endpoint": "embed", "model": name, "contains": "\n".join(texts), "any": texts})
        request[REC]["action"] = action
        if (out := await self.early(request, action)) is not None:
            return out
        options = body.get("options") or {}
        load = await self.load(m, self.num_ctx(m, options), keep, action)
        if not texts:
            return web.json_response({"model": name, "embeddings": []})
        async with self.slot(m, keep):
            await self.pause(action, "first_delay")
            vecs, total = await self.vectors(m, texts, action, body.get("truncate") is not False, options)
        dims = int(body.get("dimensions") or 0)
        if 0 < dims < (len(vecs[0]) if vecs else 0):
            vecs = [unit(v[:dims]) for v in vecs]
        request[REC].update(status=200, count=len(vecs), dims=len(vecs[0]) if vecs else 0)
        return web.json_response(
            {
                "model": name,
                "embeddings": [[round(x, 9) for x in v] for v in vecs],
                "total_duration": ns(time.monotonic() - t0),
                "load_duration": ns(load),
                "prompt_eval_count": total,
            }
        )

    async def handle_embeddings(self, request: web.Request) -> web.StreamResponse:
        body = await self.body(request)
        m = self.model(body.get("model"), "embed")
        action = self.pick(
            {"endpoint": "embeddings", "model": body.get("model"), "contains": body.get("prompt") or ""}
        )
        if (out := await self.early(request, action)) is not None:
            return out
        keep = parse_keep_alive(body.get("keep_alive"))
        await self.load(m, self.num_ctx(m, body.get("options") or {}), keep, action)
        if not body.get("prompt"):
            return web.json_response({"embedding": []})
        async with self.slot(m, keep):
            vecs, _ = await self.vectors(m, [body["prompt"]], action, True, body.get("options") or {})
        return web.json_response({"embedding": vecs[0]})
