"""Injected faults and rate limits."""

from __future__ import annotations

import fnmatch
import hashlib
import random
import time

from .rest.request import MAJOR
from .world import Sim


def find_fault(sim: Sim, method, path, template=None, phase=None):
    for f in sim.faults:
        if f.count == 0:
            continue
        if phase and (f.action == "drop_after") != (phase == "post"):
            continue
        pats = f.match if isinstance(f.match, list) else [f.match]
        if not any(
            fnmatch.fnmatchcase(f"{method} {path}", p)
            or (template and fnmatch.fnmatchcase(f"{method} {template}", p))
            for p in pats
        ):
            continue
        if f.skip > 0:
            f.skip -= 1
            continue
        if f.probability < 1 and random.random() > f.probability:
            continue
        if f.count > 0:
            f.count -= 1
        f.hits += 1
        return f
    return None


def rate_check(sim: Sim, ident, method, template, params, glob):
    """-> (headers, retry_after or None, is_global)"""
    now = time.monotonic()
    if glob and sim.cfg.global_limit:
        w = sim.gbuckets.get(ident)
        if w is None or now - w[0] >= 1.0:
            w = sim.gbuckets[ident] = [now, 0]
        if w[1] >= sim.cfg.global_limit:
            return (
                {"X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"},
                max(0.01, 1.0 - (now - w[0])),
                True,
            )
        w[1] += 1
    if template.startswith("/interactions/"):
        return {}, None, False  # callbacks have no bucket
    rule = next((r for r in sim.rules if r.method in (method, "*") and r.route in (template, "*")), None)
    if rule is None:
        return {}, None, False
    major = ":".join(params.get(k, "") for k in MAJOR)
    key = (ident, method, template, major)
    b = sim.buckets.get(key)
    if b is None or now >= b[0]:
        b = sim.buckets[key] = [now + rule.per, 0]
    hid = hashlib.md5(f"{method}{template}".encode()).hexdigest()
    shown = rule.hidden or rule.limit
    left = b[0] - now
    h = {
        "X-RateLimit-Limit": str(shown),
        "X-RateLimit-Reset": f"{time.time() + left:.3f}",
        "X-RateLimit-Reset-After": f"{left:.3f}",
        "X-RateLimit-Bucket": hid,
    }
    if b[1] >= rule.limit:
        h["X-RateLimit-Remaining"] = "0" if not rule.hidden else str(max(0, shown - b[1]))
        h["X-RateLimit-Scope"] = "user" if not rule.hidden else "shared"
        return h, left, False
    b[1] += 1
    h["X-RateLimit-Remaining"] = str(max(0, shown - b[1]))
    return h, None, False
