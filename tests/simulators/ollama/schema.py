"""The default answer to a request for structured output."""

from __future__ import annotations

from typing import Any


def sample(schema: Any, root: dict | None = None, key: str = "value", depth: int = 0) -> Any:
    """The smallest deterministic instance of a JSON schema (used when no rule says otherwise)."""
    if not isinstance(schema, dict) or depth > 12:
        return {}
    root = root or schema
    if "$ref" in schema:
        node: Any = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            node = node[part]
        return sample(node, root, key, depth + 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for k in ("anyOf", "oneOf", "allOf"):
        if schema.get(k):
            return sample(schema[k][0], root, key, depth + 1)
    t = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(t, list):
        t = next((x for x in t if x != "null"), "null")
    if t == "object":
        return {k: sample(v, root, k, depth + 1) for k, v in schema.get("properties", {}).items()}
    if t == "array":
        return [
            sample(schema.get("items", {}), root, key, depth + 1) for _ in range(schema.get("minItems", 0))
        ]
    if t in ("integer", "number"):
        return schema.get("minimum", 0)
    return (
        {"boolean": False, "null": None}.get(t, key)
        if t != "string"
        else key.ljust(schema.get("minLength", 0), "x")
    )
