"""Steps that the tests of facts share."""

from __future__ import annotations

import json
from typing import Any

from memory import backends, facts
from memory.conf import AutoExtract, FactSettings
from memory.llm.scripted import ScriptedChatModel
from memory.models import Fact, Message
from memory.types import Person
from tests.memory.memory_support import say, work

NOTHING = json.dumps({"facts": []})


def use_facts(settings: Any, **values: Any) -> FactSettings:
    """Facts on, for one test, with automatic extraction."""
    chosen = FactSettings(**{"enabled": True, "auto_extract": AutoExtract(), **values})
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"facts": chosen})
    return chosen


def answering(*proposed: str) -> ScriptedChatModel:
    return ScriptedChatModel([json.dumps({"facts": list(proposed)})])


def tell(author: Person, text: str, *proposed: str, **values: Any) -> int:
    """A member writes, the bot has answered, and the worker asks a model that answers with ``proposed``."""
    key = say(author, text, **values)
    facts.enqueue(Message.objects.get(key=key))
    with backends.override(chat_model=answering(*proposed)):
        work("extract")
    return key


def states(user_id: int) -> dict[str, str]:
    return {fact.text: fact.state for fact in Fact.objects.filter(member_id=user_id).order_by("id")}
