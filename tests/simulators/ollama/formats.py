"""Conversions between Ollama's and OpenAI's message formats."""

from __future__ import annotations

import contextlib
import json

from .values import call_id


def sse(obj: dict) -> bytes:
    return b"data: " + json.dumps(obj, ensure_ascii=False).encode() + b"\n\n"


def llama_error(text: str) -> str:
    with contextlib.suppress(Exception):
        e = json.loads(text)["error"]
        return e if isinstance(e, str) else e.get("message", text)
    return text.strip() or "unknown error"


def bare_tool_calls(text: str, names: set[str]) -> list[dict]:
    """Tool calls a model wrote as plain text: JSON objects with a known name, maybe in <tool_call> tags."""
    out, dec, i = [], json.JSONDecoder(), text.find("{")
    while i >= 0:
        try:
            o, end = dec.raw_decode(text, i)
        except ValueError:
            break
        args = o.get("arguments", o.get("parameters")) if isinstance(o, dict) else None
        if not isinstance(args, dict) or o.get("name") not in names:
            return []
        out.append({"id": "", "name": o["name"], "arguments": args})
        i = text.find("{", end)
    return out


def generate_messages(body: dict) -> list[dict]:
    out = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    out.append({"role": "user", "content": body.get("prompt") or "", "images": body.get("images")})
    return out


def oai_messages(msgs: list[dict], vision: bool) -> list[dict]:
    """Ollama chat messages -> OpenAI chat messages (tool arguments become strings, images data URLs)."""
    out, last_ids = [], []
    for x in msgs:
        role, content = x.get("role"), x.get("content") or ""
        if x.get("images") and vision:
            content = [{"type": "text", "text": content}] + [
                {
                    "type": "image_url",
                    "image_url": {"url": f"data:image/{'jpeg' if i.startswith('/9j') else 'png'};base64,{i}"},
                }
                for i in x["images"]
            ]
        o: dict = {"role": role, "content": content}
        if x.get("tool_calls"):
            last_ids = []
            o["tool_calls"] = []
            for c in x["tool_calls"]:
                cid = c.get("id") or call_id()
                last_ids.append(cid)
                o["tool_calls"].append(
                    {
                        "id": cid,
                        "type": "function",
                        "function": {
                            "name": c["function"]["name"],
                            "arguments": json.dumps(c["function"].get("arguments") or {}),
                        },
                    }
                )
        if role == "tool":
            o["tool_call_id"] = x.get("tool_call_id") or (last_ids.pop(0) if last_ids else call_id())
            if x.get("tool_name"):
                o["name"] = x["tool_name"]
        out.append(o)
    return out


def from_oai(msgs: list[dict]) -> list[dict]:
    out = []
    for x in msgs:
        c, images = x.get("content"), []
        if isinstance(c, list):
            images = [p["image_url"]["url"].split(",", 1)[-1] for p in c if p.get("type") == "image_url"]
            c = "\n".join(p.get("text", "") for p in c if p.get("type") == "text")
        o: dict = {"role": x.get("role"), "content": c or ""}
        if images:
            o["images"] = images
        if x.get("tool_calls"):
            o["tool_calls"] = [
                {
                    "id": t.get("id"),
                    "function": {
                        "name": t["function"]["name"],
                        "arguments": json.loads(t["function"].get("arguments") or "{}"),
                    },
                }
                for t in x["tool_calls"]
            ]
        if x.get("tool_call_id"):
            o["tool_call_id"] = x["tool_call_id"]
        out.append(o)
    return out
