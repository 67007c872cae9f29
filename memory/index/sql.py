"""What SQLite and PostgreSQL write differently."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.db import connection


def among(name: str = "wanted") -> str:
    """A list of numbers as a table with the column ``value``; its one parameter is an ``array``."""
    if connection.vendor == "postgresql":
        return f"unnest(%s::bigint[]) AS {name}(value)"
    return f"json_each(%s) AS {name}"


def among_texts(name: str = "wanted") -> str:
    """The same for texts."""
    if connection.vendor == "postgresql":
        return f"unnest(%s::text[]) AS {name}(value)"
    return f"json_each(%s) AS {name}"


def array(values: Iterable[Any]) -> Any:
    """The parameter of ``among`` and ``among_texts``."""
    found = list(values)
    return found if connection.vendor == "postgresql" else json.dumps(found)


def first_keys(query: str) -> str:
    """A subquery that gives numbers in an order, with a limit, as one value; ``keys_from`` reads it."""
    if connection.vendor == "postgresql":
        return f"ARRAY({query})"
    return f"(SELECT group_concat(key) FROM ({query}))"


def keys_from(value: Any) -> list[int]:
    """The numbers in a value of ``first_keys``, in their order."""
    return [int(one) for one in value.split(",")] if isinstance(value, str) else list(value or ())


def position(column: str) -> str:
    """An expression that is above 0 where a column, read as text, holds the text that is its one parameter."""
    if connection.vendor == "postgresql":
        return f"strpos({column}::text, %s)"
    return f"instr({column}, %s)"
