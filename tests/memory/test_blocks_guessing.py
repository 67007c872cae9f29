"""Where a member's block is hidden, no tool tells by its answer what stands in it: a guess that is right and one that is wrong look alike."""

import pytest

from memory import blocks, consent
from memory.blocks import Place, Toolbox
from tests.factories import MemberFactory
from tests.memory.blocks_support import use_core

pytestmark = pytest.mark.django_db

SECRET = "Is planning a surprise for Ben."


@pytest.fixture
def ada():
    member = MemberFactory()
    actor = blocks.Actor("model", member.user_id, consent=consent.find(member.user_id))
    for private in (False, True):
        blocks.append(blocks.human(member.user_id, private=private), SECRET, actor=actor)
    return member


def tools(member, *, private=False):
    place = Place(consent.find(member.user_id), 77, 7, private=private)
    return Toolbox(place, blocks.provider())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("core_memory_replace", {"old_text": "{}", "new_text": "x"}),
        ("core_memory_replace", {"old_text": "{}", "new_text": ""}),
        ("core_memory_replace", {"old_text": "{}", "new_text": "{}"}),
        ("rethink", {"new_content": "{}", "version": 1, "reason": "guess"}),
        ("rethink", {"new_content": "{}", "version": 9, "reason": "guess"}),
    ],
)
def test_a_guess_learns_nothing_in_a_group(ada, settings, name, arguments):
    use_core(settings, provider="letta")
    results = []
    for guess in ("surprise for Ben", "surprise for Cleo", "a", ""):
        filled = {
            key: value.replace("{}", guess) if isinstance(value, str) else value
            for key, value in arguments.items()
        }
        results.append(tools(ada).call(name, {"block": "human", **filled}, ""))
    assert all(result == results[0] for result in results)
    assert results[0]["ok"] is False and results[0]["error"] == "forbidden" and "Ben" not in str(results)
    assert blocks.get(blocks.human(ada.user_id)).value == SECRET


def test_it_works_where_it_is_shown(ada, settings):
    use_core(settings, provider="letta")
    arguments = {"block": "human", "old_text": "Ben", "new_text": "Cleo"}
    assert tools(ada, private=True).call("core_memory_replace", arguments, "")["ok"]
    settings.MUSEBOT = settings.MUSEBOT.model_copy(
        update={"facts": settings.MUSEBOT.facts.model_copy(update={"inject_in_groups": True})}
    )
    assert tools(ada).call("core_memory_replace", arguments, "")["ok"]


def test_adding_to_it_still_works_and_shows_nothing(ada):
    result = tools(ada).call("core_memory_append", {"block": "human", "content": "Sails."}, "")
    assert result["ok"] and set(result) == {"ok", "block", "version", "chars", "limit"}
