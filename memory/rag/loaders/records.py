"""JSON: a record for each element of the array (or each key of an object), its fields as lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from memory.rag.errors import refuse
from memory.rag.loaders.clean import clean, one_line
from memory.rag.types import LoadedDocument, LoadLimits, Section

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.S)
_TITLES = ("title", "question", "q", "name", "heading", "subject")


def load_json(text: str, limits: LoadLimits) -> LoadedDocument:
    """A section for each record. Raises ``LOAD_FAILED`` with the line and column of what is not JSON."""
    value = parse_json(text, limits)
    sections = tuple(
        Section(body, (name,) if name else (), row=row)
        for row, (name, body) in enumerate(_records(value), start=1)
        if body.strip()
    )
    return LoadedDocument(sections, "json")


def parse_json(text: str, limits: LoadLimits) -> Any:
    if _depth(text) > limits.json_depth:
        raise refuse(f"The JSON is nested too deeply (more than {limits.json_depth} levels).", "depth")

    def number(digits: str) -> str:
        if len(digits) > limits.number_digits:
            raise refuse(f"The JSON has a number of more than {limits.number_digits} digits.", "number")
        return digits

    def constant(name: str) -> None:
        position = re.search(rf"(?<![\w\"]){re.escape(name)}\b", text)
        line = text.count("\n", 0, position.start()) + 1 if position else 0
        raise refuse(f"{name} is not JSON (line {line}).", "syntax", line=line)

    try:
        return json.loads(text, parse_int=number, parse_float=number, parse_constant=constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise refuse(
            f"This is not valid JSON: {error.msg}, {where}.", "syntax", line=error.lineno, column=error.colno
        ) from None


def record_heading(record: dict[str, Any]) -> str:
    """What a record is called: its title, question or name."""
    lowered = {str(key).lower(): value for key, value in record.items()}
    like = [key for name in ("title", "question", "name", "q") for key in lowered if _like(key, name)]
    for key in (*_TITLES, *like):
        value = lowered.get(key)
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            value = value[0]
        if isinstance(value, str) and value.strip():
            return one_line(value)
    return ""


def _like(key: str, name: str) -> bool:
    """``product_name``, ``question_en``: a part of the key is the name, or a long key ends with it."""
    return name in re.split(r"[\W_]+", key) or (len(name) > 1 and key.endswith(name))


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in re.findall(r"[\[\]{}]", _STRING.sub("", text)):
        depth += 1 if character in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _records(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        arrays = [
            (key, item)
            for key, item in value.items()
            if isinstance(item, list) and any(isinstance(x, dict) for x in item)
        ]
        if arrays:
            rest = {key: item for key, item in value.items() if key not in dict(arrays)}
            if rest:
                yield record_heading(rest), _lines(rest)
            for _, array in arrays:
                yield from _records(array)
        elif len(value) > 1 and all(isinstance(item, (str, dict, list)) for item in value.values()):
            yield from (
                (one_line(str(key)), f"{clean(str(key))}\n{_lines(item)}") for key, item in value.items()
            )
        else:
            yield record_heading(value), _lines(value)
    elif isinstance(value, list):
        for item in value:
            yield (record_heading(item) if isinstance(item, dict) else ""), _lines(item)
    else:
        yield "", _lines(value)


def _lines(value: Any, prefix: str = "") -> str:
    """A value as lines of ``key: value``; nested keys are joined with dots, items of lists have lines of their own."""
    if isinstance(value, dict):
        return "\n".join(
            filter(
                None, (_lines(item, f"{prefix}.{key}" if prefix else str(key)) for key, item in value.items())
            )
        )
    if isinstance(value, list):
        if all(isinstance(item, str) and len(item) < 40 for item in value):
            return _line(prefix, ", ".join(value)) if value else ""
        return "\n".join(filter(None, (_lines(item, prefix) for item in value)))
    if value is None or value == "":
        return ""
    return _line(prefix, {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value))


def _line(key: str, value: str) -> str:
    return clean(f"{key}: {value}" if key else value).strip()
