"""No table can hold something of a person without the re-scan after an erasure looking there."""

import pytest
from django.apps import apps

from memory.erasure.needles import Needle
from memory.erasure.verification import _naming

A_MEMBER = 1_234_567_890_123_456_789


def names_people(model) -> set[str]:
    return {
        field.attname
        for field in model._meta.concrete_fields
        if field.attname in {"user_id", "author_id", "asker_id", "member_id"}
    }


@pytest.mark.django_db
@pytest.mark.parametrize(
    "model", list(apps.get_app_config("memory").get_models()), ids=lambda model: model.__name__
)
def test_the_re_scan_looks_at_every_column_that_names_a_person(model):
    query = _naming(model, Needle(A_MEMBER))
    columns = names_people(model)
    if columns:
        assert query is not None
        statement = str(query.query)
        assert all(f'"{column}" = {A_MEMBER}' in statement for column in columns)
    if query is not None:
        assert not query.exists()


def test_there_are_models_that_name_people():
    assert sum(bool(names_people(model)) for model in apps.get_app_config("memory").get_models()) >= 5
