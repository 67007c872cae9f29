"""Where a prompt has room, what was said around the best memories comes after them."""

from __future__ import annotations

import pytest
from django.test import override_settings
from django.utils import timezone

from memory import retrieval
from memory.conf import get_config
from memory.models import Member
from memory.types import Recall
from tests.memory.recall_support import Town

pytestmark = pytest.mark.django_db


@pytest.fixture
def town() -> Town:
    found = Town()
    found.say("Maren", "morning everyone", on="2026-03-01T08:00")
    found.say("Tobias", "so where do we meet", on="2026-03-01T12:00")
    found.say("Maren", "the lighthouse", on="2026-03-01T12:01")
    found.say("Tobias", "bring a coat", on="2026-03-01T12:02")
    return found


def asked(town: Town, *, budget: int, **values: object) -> Recall:
    config = get_config()
    memory = config.memory.model_copy(update={"token_budget": budget, "top_k": 1})
    with override_settings(MUSEBOT=config.model_copy(update={"memory": memory})):
        return retrieval.recall(town.ask("lighthouse", **values))


def texts(recall: Recall) -> list[str]:
    return [memory.text for memory in recall.memories]


def test_both_neighbours_of_the_same_episode_come_last(town: Town) -> None:
    recall = asked(town, budget=1500)
    assert texts(recall) == ["the lighthouse", "so where do we meet", "bring a coat"]
    assert [memory.scores.get("beside") for memory in recall.memories] == [None, 1.0, 1.0]
    assert recall.memories[1].line == "[1 March 2026 Tobias] so where do we meet"


def test_not_in_a_small_budget_nor_where_a_number_is_asked_for(town: Town) -> None:
    assert texts(asked(town, budget=1499)) == ["the lighthouse"]
    assert texts(asked(town, budget=1500, top_k=1)) == ["the lighthouse"]


def test_not_what_the_prompt_has_already_or_must_not_have(town: Town) -> None:
    last = town.say("Tobias", "lighthouse keeper?", on="2026-05-01T12:02")
    later = town.say("Maren", "of course", on="2026-05-01T12:03")
    exclude = frozenset({last.discord_id, later.discord_id})
    Member.objects.filter(pk=town.people["Tobias"].pk).update(withdrawn_at=timezone.now())
    assert texts(asked(town, budget=1500, exclude_discord_ids=exclude)) == ["the lighthouse"]
