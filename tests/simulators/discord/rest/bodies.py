"""Message bodies: limits, uploaded files, edits."""

from __future__ import annotations

import re
import time

from ..errors import ApiErr, form_err
from ..store import Msg
from .request import Req


def check_body(r: Req, body, edit=False, old=None):
    lim = r.sim.cfg.message_limit
    content = body.get("content")
    if content is not None:
        if not isinstance(content, str):
            raise form_err("content", "STRING_TYPE_CONVERT", "Could not interpret as string.")
        if len(content) > lim:
            raise form_err("content", "BASE_TYPE_MAX_LENGTH", f"Must be {lim} or fewer in length.")
    embeds = body.get("embeds") or ([] if not body.get("embed") else [body["embed"]])
    if len(embeds) > 10:
        raise form_err("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
    total = 0
    for i, e in enumerate(embeds):
        for k, n in (("title", 256), ("description", 4096)):
            if len(e.get(k) or "") > n:
                raise form_err(f"embeds.{i}.{k}", "BASE_TYPE_MAX_LENGTH", f"Must be {n} or fewer in length.")
        if len(e.get("fields") or []) > 25:
            raise form_err(f"embeds.{i}.fields", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
        total += (
            len(e.get("title") or "")
            + len(e.get("description") or "")
            + sum(len(f.get("name", "")) + len(f.get("value", "")) for f in e.get("fields") or [])
        )
        total += len((e.get("footer") or {}).get("text") or "") + len(
            (e.get("author") or {}).get("name") or ""
        )
    if total > 6000:
        raise form_err("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000")
    if len(r.files) > 10:
        raise form_err("files", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
    for f in r.files.values():
        if len(f[1]) > r.sim.cfg.max_attachment:
            raise ApiErr(413, 40005, "Request entity too large")
    if not edit or content is not None:
        has = (
            (content or "").strip()
            or embeds
            or r.files
            or body.get("components")
            or body.get("sticker_ids")
            or body.get("poll")
            or body.get("attachments")
        )
        if edit and old is not None:
            has = (
                has
                or (old.get("embeds") and "embeds" not in body)
                or (old.get("attachments") and "attachments" not in body)
            )
        if not has:
            raise ApiErr(400, 50006, "Cannot send an empty message")
    return embeds


def take_files(r: Req, cid, body):
    descr = {str(a.get("id")): a for a in body.get("attachments") or [] if isinstance(a, dict)}
    out = []
    for key, (fn, data, ct) in r.files.items():
        n = re.search(r"\d+", key)
        meta = descr.get(n.group(0) if n else "0", {})
        out.append(
            r.sim.add_file(
                cid,
                meta.get("filename") or fn,
                data,
                ct if ct != "application/octet-stream" else None,
                description=meta.get("description"),
            )
        )
    return out


def apply_edit(r: Req, m: Msg, body, stamp=True):
    s = r.sim
    c = s.channels[m.channel_id]
    embeds = check_body(r, body, edit=True, old=m)
    if "content" in body:
        m.content = body["content"] or ""
        am = body.get("allowed_mentions")
        u, ro, ev = s.find_mentions(m.content, s.guilds.get(c.guild_id), am, m.author_id)
        rf = m.get("ref")
        if rf and rf[0] in s.channels and rf[1] in s.channels[rf[0]].store.by_id:
            ra = s.channels[rf[0]].store.by_id[rf[1]].author_id
            if ra in (m.get("mentions") or []) and ra not in u:
                u.append(ra)
        m.set("mentions", u)
        m.set("mention_roles", ro)
    if "embeds" in body or "embed" in body:
        m.set("embeds", embeds)
    if "components" in body:
        m.set("components", body["components"] or [])
    if "flags" in body and body["flags"] is not None:
        m.set("flags", (m.get("flags", 0) & ~4) | (body["flags"] & 4))
    if "attachments" in body or r.files:
        keep = {str(a["id"]) for a in body.get("attachments") or [] if isinstance(a, dict) and "id" in a}
        old = (
            [a for a in m.get("attachments", []) if str(a["id"]) in keep]
            if "attachments" in body
            else m.get("attachments", [])
        )
        m.set("attachments", old + take_files(r, c.id, body))
    if stamp:
        m.set("edited", s.now())
    m.set("edits", (m.get("edits") or []) + [[round(time.time() - s.t0, 4), m.content]])
