"""Hundreds of rows at once, by one parameter: as a list of parameters they cost Django many times what the database takes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db import connection, models
from django.db.models.deletion import CASCADE, DO_NOTHING, SET_NULL, get_candidate_relations_to_delete
from django.db.models.expressions import RawSQL

from memory.index.sql import among, array

Keys = Collection[int] | Collection[UUID]


def listed(keys: Keys) -> RawSQL:
    """Whole numbers, or UUIDs, for a condition ``…__in``."""
    return RawSQL(*_list(keys))


def _list(keys: Keys) -> tuple[str, list[Any]]:
    if not any(isinstance(one, UUID) for one in keys):
        return f"SELECT value FROM {among()}", [array(keys)]
    if connection.vendor == "postgresql":
        return "SELECT value FROM unnest(%s::uuid[]) AS wanted(value)", [[str(one) for one in keys]]
    # As Django stores them where the database has no type for it.
    return f"SELECT value FROM {among()}", [array(one.hex for one in keys if isinstance(one, UUID))]


def delete(model: type[models.Model], keys: Keys) -> None:
    """Deletes rows by their keys with all that hangs on them, as ``QuerySet.delete`` does, without reading them first.

    Whatever has signals or rows that hang on it in turn goes through Django. In the caller's transaction.
    """
    if not keys:
        return
    given = _list(keys)
    relations: Iterable[Any] = get_candidate_relations_to_delete(model._meta)
    for relation in relations:
        related: type[models.Model] = relation.related_model
        if relation.on_delete is SET_NULL:
            _execute("UPDATE {table} SET {column} = NULL", related, relation.field, given)
        elif relation.on_delete is CASCADE and _is_leaf(related):
            _execute("DELETE FROM {table}", related, relation.field, given)
        elif relation.on_delete is CASCADE:
            rows = related._base_manager.filter(**{f"{relation.field.attname}__in": RawSQL(*given)})
            if ids := list(rows.values_list("pk", flat=True)):
                related._base_manager.filter(pk__in=ids).delete()
        elif relation.on_delete is not DO_NOTHING:
            raise NotImplementedError(f"what {related.__name__} does on delete is not known here")
    _execute("DELETE FROM {table}", model, model._meta.pk, given)


def _execute(statement: str, model: type[models.Model], field: Any, given: tuple[str, list[Any]]) -> None:
    quote = connection.ops.quote_name
    begin = statement.format(table=quote(model._meta.db_table), column=quote(field.column))
    query, values = given
    with connection.cursor() as cursor:
        cursor.execute(f"{begin} WHERE {quote(field.column)} IN ({query})", values)


def _is_leaf(model: type[models.Model]) -> bool:
    """Whether nothing hangs on its rows and nobody wants to know of them."""
    signals = models.signals.pre_delete, models.signals.post_delete
    return not any(one.has_listeners(model) for one in signals) and not list(
        get_candidate_relations_to_delete(model._meta)
    )
