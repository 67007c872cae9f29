"""``/memory export`` and ``/memory undo``: a member's own data, for themselves."""

import json

import pytest

from botrunner import own_data
from botrunner.cogs.memory import MemoryCog
from memory import blocks, consent
from tests.factories import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    someone = person("ada")
    consent.give(person=someone, origin="discord")
    return someone.id


def note(user_id: int, text: str, *, private: bool = False) -> None:
    actor = blocks.Actor("model", user_id, consent=consent.find(user_id))
    blocks.append(blocks.human(user_id, private=private), text, actor=actor)


def test_the_commands_are_there():
    names = {command.qualified_name for command in MemoryCog.memory.walk_commands()}
    assert names >= {"memory export", "memory undo"}


def test_the_export_is_json_of_ones_own(ada):
    assert own_data.export(user_id=person().id) == own_data.NOT_A_MEMBER
    data = own_data.export(user_id=ada)
    assert json.loads(data)["user_id"] == str(ada)


def test_what_is_too_much_for_discord_is_said(ada, monkeypatch):
    monkeypatch.setattr(own_data, "MOST_BYTES", 10)
    assert "too much" in own_data.export(user_id=ada)


def test_the_last_change_is_taken_back(ada):
    assert "nothing to undo" in own_data.undo(user_id=ada, private=False)
    note(ada, "Likes tea.")
    note(ada, "Has a dog.")
    shown = own_data.undo(user_id=ada, private=False)
    assert "Likes tea." in shown and "dog" not in shown
    assert blocks.get(blocks.human(ada)).value.strip() == "Likes tea."


def test_what_was_noted_in_private_is_undone_in_private_only(ada):
    note(ada, "Is planning a surprise.", private=True)
    assert "nothing to undo" in own_data.undo(user_id=ada, private=False)
    assert "nothing noted" in own_data.undo(user_id=ada, private=True)


def test_somebody_who_has_not_opted_in_has_nothing_to_undo():
    assert own_data.undo(user_id=person().id, private=False) == own_data.NOT_A_MEMBER
