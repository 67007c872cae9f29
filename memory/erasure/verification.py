"""The re-scan: what is left of a person, in every table that there is, in the indexes, and in the bytes of the files.

Tables are found by looking at the models, so that a new one cannot be forgotten.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models.functions import Cast, StrIndex

from memory.backends import text_index
from memory.erasure import files, orphans
from memory.erasure.needles import Needle
from memory.index import archival
from memory.models import ErasureRequest, Member

PEOPLE = frozenset({"user_id", "author_id", "asker_id", "member_id"})
_TEXT = (models.CharField, models.TextField, models.JSONField)


def verify(user_id: int) -> dict[str, int]:
    """What is left of a person, by store; empty if nothing is. Reads only.

    Rows are counted under their table's name, files under ``file …``, ``broker``, ``logs`` and ``receipts``, entries of an index
    that belong to no message under ``words without a message`` and ``vectors without a message``. A memory of the original Musebot
    that was set aside counts as a file as well, though no erasure changes it.
    """
    needles = Needle(user_id).bytes
    beside = files.search(needles, files.set_aside())
    return dict(rows(user_id) + indexes(user_id) + files.search(needles) + beside)


def rows(user_id: int, *, except_request: object = None) -> Counter[str]:
    """Rows of any table that hold the id, as a number or in a text. ``except_request`` is the erasure that is under way."""
    found: Counter[str] = Counter()
    for model in apps.get_models():
        query = _naming(model, Needle(user_id))
        if query is None:
            continue
        if model is ErasureRequest and except_request is not None:
            query = query.exclude(pk=except_request)
        if count := query.count():
            found[model._meta.db_table] = count
    return found


def _naming(model: type[models.Model], needle: Needle) -> models.QuerySet[models.Model] | None:
    condition = models.Q()
    places: dict[str, StrIndex] = {}
    for field in model._meta.concrete_fields:
        if _may_be_user(field, needle):
            condition |= models.Q(**{field.attname: needle.user_id})
        elif isinstance(field, _TEXT):
            for number, text in enumerate(needle.texts):
                name = f"place_{field.attname}_{number}"
                places[name] = StrIndex(Cast(field.attname, models.TextField()), models.Value(text))
                condition |= models.Q(**{f"{name}__gt": 0})
    return model._base_manager.alias(**places).filter(condition) if condition else None


def _may_be_user(field: Any, needle: Needle) -> bool:
    """A person's id fits a 64-bit column only. A short one may be any number, so only columns that name people count."""
    if isinstance(field, models.ForeignKey):
        return field.remote_field.model is Member
    if not isinstance(field, models.BigIntegerField) or isinstance(field, models.BigAutoField):
        return False
    return needle.is_long or field.attname in PEOPLE


def indexes(user_id: int) -> Counter[str]:
    """The id among the words of the full-text index, and entries of the indexes that belong to no message."""
    return named_in_indexes(user_id) + strays()


def named_in_indexes(user_id: int) -> Counter[str]:
    """The id among the words of messages and of the archive."""
    found: Counter[str] = Counter()
    needle = Needle(user_id)
    if needle.is_long and (hits := text_index().search(None, [str(user_id)], 1000)):
        found["words"] = len(hits)
    found["words of the archive"] = archival.holding(str(user_id)) if needle.is_long else 0
    return +found


def strays() -> Counter[str]:
    """Entries of indexes that belong to nothing."""
    found: Counter[str] = Counter()
    words, vectors = archival.strays()
    found["words without an entry"], found["vectors without an entry"] = words, vectors
    found["vectors without a message"] = orphans.vectors(remove=False)
    found["words without a message"] = orphans.words()
    return +found
