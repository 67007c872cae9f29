"""``/memory facts`` and ``/memory fact forget``: one's own facts, in plain words."""

import pytest

from botrunner import fact_notices
from botrunner.cogs.memory import MemoryCog
from memory import facts
from tests.factories import MemberFactory, snowflake

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada():
    return MemberFactory().user_id


def test_the_commands_are_there():
    group = MemoryCog.memory
    assert {command.qualified_name for command in group.walk_commands()} >= {
        "memory facts",
        "memory fact",
        "memory fact forget",
    }


def test_the_list(ada):
    assert "not opted in" in fact_notices.list_facts(user_id=snowflake())
    assert "no facts" in fact_notices.list_facts(user_id=ada)
    facts.remember(ada, ["Likes tea", "Plays *chess* with @everyone"], ttl="30d", trusted=True)
    shown = fact_notices.list_facts(user_id=ada)
    assert shown.index("Likes tea") < shown.index("Plays") and "<t:" in shown
    assert "@everyone" not in shown and "*chess*" not in shown.replace("\\*", "")


def test_forgetting_by_suggestion_and_by_words(ada):
    other = MemberFactory().user_id
    facts.remember(ada, ["Likes tea", "Likes figs"])
    facts.remember(other, "Likes jam")
    (choice,) = fact_notices.suggestions(user_id=ada, typed="TEA")
    assert choice[0] == "Likes tea"
    assert fact_notices.forget_fact(user_id=ada, fact=choice[1]) == "Forgotten."
    foreign = str(facts.memory_facts(other)[0].id)
    for known in ("Likes tea", foreign, "9" * 30, ""):
        assert "no such fact" in fact_notices.forget_fact(user_id=ada, fact=known)
    assert fact_notices.forget_fact(user_id=ada, fact="likes FIGS.") == "Forgotten."
    assert facts.memory(other) == ["Likes jam"]


def test_suggestions_fit_discords_limits(ada):
    facts.remember(ada, [f"Owns item {n} " + "x" * 150 for n in range(30)])
    found = fact_notices.suggestions(user_id=ada, typed="")
    assert (
        len(found) == 25
        and all(len(name) <= 100 for name, _ in found)
        and found[0][0].startswith("Owns item 29")
    )
