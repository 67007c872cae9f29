"""What the ``/memory`` commands do and say."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as django_settings

from botrunner import notices
from memory import capture
from memory.conf import ModelRef, OpenAIConfig
from memory.models import Guild, Member, Message
from memory.types import GuildInfo
from tests.factories import MemberFactory, incoming, person

pytestmark = pytest.mark.django_db(transaction=True)

HARBOUR = GuildInfo(id=1_300_000_000_000_000_001, name="Harbour")


def configure(settings: Any, part: str, **values: Any) -> None:
    config = django_settings.MUSEBOT
    changed = getattr(config, part).model_copy(update=values)
    settings.MUSEBOT = config.model_copy(update={part: changed})


def test_remembering_says_what_is_stored_for_how_long_and_where() -> None:
    ada = person("ada")
    said = notices.remember(person=ada, guild=HARBOUR)
    for word in ("Stored", "For how long", "/memory forget", "nothing goes to anybody else"):
        assert word in said
    assert Member.objects.get().user_id == ada.id
    assert Guild.objects.get().discord_id == HARBOUR.id
    assert "already opted in" in notices.remember(person=ada, guild=HARBOUR)
    assert Member.objects.count() == 1


def test_a_server_that_gets_to_see_it_is_named(settings: Any) -> None:
    configure(settings, "memory", embedding_model=ModelRef(provider="openai", name="small"))
    settings.MUSEBOT = settings.MUSEBOT.model_copy(
        update={"openai": OpenAIConfig(embedding_base_url="https://vectors.example.org/v1")}
    )
    said = notices.remember(person=person("ada"), guild=HARBOUR)
    assert "vectors.example.org" in said and "nothing goes to anybody else" not in said


def test_memory_that_is_off_says_so(settings: Any) -> None:
    configure(settings, "memory", embedding_model=None)
    ada = person("ada")
    assert notices.remember(person=ada, guild=HARBOUR) == notices.MEMORY_OFF
    assert notices.status(user_id=ada.id) == notices.MEMORY_OFF
    assert not Member.objects.exists()


def test_status_counts_what_is_stored_and_what_waits() -> None:
    ada = person("ada")
    assert "not opted in" in notices.status(user_id=ada.id)
    notices.remember(person=ada, guild=HARBOUR)
    assert "Memories: 0" in notices.status(user_id=ada.id)
    for number in range(3):
        capture.record_message(incoming(f"message {number}", author=ada, guild=HARBOUR))
    said = notices.status(user_id=ada.id)
    assert "Memories: 3" in said and "Waiting to be made searchable: 3" in said and "The latest" in said


def test_forgetting_erases_and_says_how_much() -> None:
    ada, ben = person("ada"), person("ben")
    for one in (ada, ben):
        notices.remember(person=one, guild=HARBOUR)
        capture.record_message(incoming("hello there", author=one, guild=HARBOUR))
    said = notices.forget(user_id=ada.id)
    assert "Everything of yours has been erased" in said and "1 memories" in said and "Receipt" in said
    assert list(Message.objects.values_list("member_id", flat=True)) == [ben.id]
    assert "not opted in" in notices.status(user_id=ada.id)


def test_an_erasure_under_way_is_said(settings: Any) -> None:
    from django.utils import timezone

    member = MemberFactory(withdrawn_at=timezone.now())
    assert "being erased" in notices.status(user_id=member.user_id)
    ada = person("ada", id=member.user_id)
    assert "still being erased" in notices.remember(person=ada, guild=HARBOUR)


def test_whoever_never_opted_in_may_forget_too() -> None:
    assert "Nothing of yours was stored" in notices.forget(user_id=person("ada").id)
