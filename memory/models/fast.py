"""Many rows in one statement, at a fraction of what ``bulk_create`` takes for each value; and one row by a column.

A query of Django's takes many times as long to put together as SQLite takes to answer it, and a turn looks up dozens of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from django.db import connection, models

ROWS_AT_ONCE = 500

Row = TypeVar("Row", bound=models.Model)


def insert(rows: Sequence[Row], *, unique: Sequence[str] = (), update: Sequence[str] = ()) -> None:
    """Inserts rows whose fields all have their values; where one with the same ``unique`` fields exists, ``update`` is taken over
    (names of fields; of a foreign key with its ``_id``).

    An automatic primary key is left to the database and is not filled in.
    """
    if not rows:
        return
    model = type(rows[0])
    fields = [one for one in model._meta.concrete_fields if not isinstance(one, models.AutoField)]
    names = [str(one.attname) for one in fields]
    prepare = [(place, _prepared(one)) for place, one in enumerate(fields) if _needs(one)]
    values = []
    for row in rows:
        state = row.__dict__
        line = [state[name] for name in names]
        for place, function in prepare:
            line[place] = function(line[place])
        values.append(line)
    _execute(model, values, tuple(unique), tuple(update))


def get(model: type[Row], **equal: Any) -> Row | None:
    """The row whose columns have these values (numbers, text; of a foreign key with its ``_id``), as ``filter(…).first()`` gives it.

    None if there is none; of several, any. ``lock`` is for the writer: nobody changes the row before the transaction ends.
    """
    lock = equal.pop("lock", False) and connection.vendor != "sqlite" and connection.in_atomic_block
    return _first(model, equal, " LIMIT 1 FOR NO KEY UPDATE" if lock else " LIMIT 1")


def latest(model: type[Row], **equal: Any) -> Row | None:
    """The same; of several, the one with the highest primary key."""
    key = connection.ops.quote_name(model._meta.pk.column)
    return _first(model, equal, f" ORDER BY {key} DESC LIMIT 1")


def _first(model: type[Row], equal: dict[str, Any], ending: str) -> Row | None:
    statement, names, converters = _selection(model, tuple(equal), connection.alias)
    with connection.cursor() as cursor:
        cursor.execute(statement + ending, list(equal.values()))
        found = cursor.fetchone()
    if found is None:
        return None
    values = list(found)
    for place, functions in converters:
        for function in functions:
            values[place] = function(values[place], None, connection)
    return model.from_db(connection.alias, names, values)


@lru_cache(maxsize=200)
def _selection(
    model: type[models.Model], equal: tuple[str, ...], alias: str
) -> tuple[str, list[str], list[tuple[int, list[Callable[..., Any]]]]]:
    quote = connection.ops.quote_name
    fields: list[Any] = list(model._meta.concrete_fields)
    column = {str(one.attname): quote(one.column) for one in fields}
    statement = (
        f"SELECT {', '.join(column.values())} FROM {quote(model._meta.db_table)} "
        f"WHERE {' AND '.join(f'{column[name]} = %s' for name in equal)}"
    )
    converters = []
    for place, one in enumerate(fields):
        expression = one.get_col(model._meta.db_table)
        functions = [*connection.ops.get_db_converters(expression), *one.get_db_converters(connection)]
        if functions:
            converters.append((place, functions))
    return statement, list(column), converters


def insert_like(
    template: models.Model,
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    unique: Sequence[str] = (),
    update: Sequence[str] = (),
) -> None:
    """The same for rows that differ in a few fields only (numbers and text): ``names`` says in which."""
    model = type(template)
    fields = [one for one in model._meta.concrete_fields if not isinstance(one, models.AutoField)]
    same = [_prepared(one)(getattr(template, one.attname)) for one in fields]
    places = [[str(one.attname) for one in fields].index(name) for name in names]
    values = []
    for row in rows:
        line = same.copy()
        for place, value in zip(places, row, strict=True):
            line[place] = value
        values.append(line)
    if values:
        _execute(model, values, tuple(unique), tuple(update))


def _execute(
    model: type[models.Model], values: list[list[Any]], unique: tuple[str, ...], update: tuple[str, ...]
) -> None:
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.executemany(_statement(model, unique, update, 1), values)
        return
    # A statement for many rows saves as many journeys to the server; it may not meet the same row twice.
    if unique:
        fields = [one for one in model._meta.concrete_fields if not isinstance(one, models.AutoField)]
        places = [[str(one.attname) for one in fields].index(name) for name in unique]
        # In one order, so that two that meet wait for each other once.
        values = [
            line for _, line in sorted({tuple(line[n] for n in places): line for line in values}.items())
        ]
    with connection.cursor() as cursor:
        for start in range(0, len(values), ROWS_AT_ONCE):
            some = values[start : start + ROWS_AT_ONCE]
            cursor.execute(
                _statement(model, unique, update, len(some)), [value for line in some for value in line]
            )


def _needs(field: Any) -> bool:
    column = field.target_field if isinstance(field, models.ForeignKey) else field
    return isinstance(column, models.DateTimeField | models.DateField | models.JSONField | models.UUIDField)


def _prepared(field: Any) -> Callable[[Any], Any]:
    if isinstance(field, models.DateTimeField):
        # The moment of storing is the same in all rows.
        return lru_cache(maxsize=4)(connection.ops.adapt_datetimefield_value)
    if isinstance(field, models.JSONField):
        return lambda value: connection.ops.adapt_json_value(value, field.encoder)
    return lambda value: None if value is None else field.get_db_prep_save(value, connection)


@lru_cache(maxsize=200)
def _statement(model: type[models.Model], unique: tuple[str, ...], update: tuple[str, ...], rows: int) -> str:
    quote = connection.ops.quote_name
    fields = [one for one in model._meta.concrete_fields if not isinstance(one, models.AutoField)]
    columns = ", ".join(quote(one.column) for one in fields)
    line = f"({', '.join(['%s'] * len(fields))})"
    statement = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES {', '.join([line] * rows)}"
    if not unique:
        return statement
    column = {str(one.attname): quote(one.column) for one in fields}
    where = ", ".join(column[name] for name in unique)
    return f"{statement} ON CONFLICT ({where}) DO UPDATE SET " + ", ".join(
        f"{column[name]} = excluded.{column[name]}" for name in update
    )
