"""A member's export holds everything that is stored of them, and nothing of anybody else."""

from __future__ import annotations

import json

import pytest

from memory import capture, consent, export
from memory.errors import NotFound
from memory.models import Message, Reply, ReplyMemory
from tests.factories import incoming, person

pytestmark = pytest.mark.django_db


def test_everything_and_nothing_more():
    ada, ben = person("ada"), person("ben")
    first, other = incoming("I keep bees", author=ada), incoming("I keep newts", author=ben)
    capture.remember_guild(first.guild, [first.channel])
    for one in (ada, ben):
        consent.give(person=one, origin="discord", guild=first.guild)
    key = capture.record_message(first)
    capture.record_message(other)
    capture.record_reply(
        incoming("Lovely", author=person("musebot", is_bot=True), reply_to=first.id), owner_id=ada.id
    )
    reply = Reply.objects.create(asker_id=ada.id, question_id=key)
    ReplyMemory.objects.create(reply=reply, message_id=key, rank=1, score=1.0)

    data = export.member_data(ada.id)
    assert data["user_id"] == str(ada.id) and data["member"]["username"] == "ada"
    assert [row["text"] for row in data["memories"]] == ["I keep bees", "Lovely"]
    assert data["memories"][0]["content"] == Message.objects.get(key=key).content
    assert data["memories"][0]["id"] == str(key)
    assert data["servers"][0]["name"] == "Harbour" and data["servers"][0]["memories"] == 2
    assert data["consent"][0]["action"] == "given"
    assert data["replies"][0]["trace_id"] == str(reply.id)
    assert data["replies"][0]["memories"][0]["id"] == str(key)
    assert len(data["work"]) == 2 and data["days"] and data["erasures"] == []
    assert "newts" not in json.dumps(data) and str(ben.id) not in json.dumps(data)


def test_somebody_who_has_not_opted_in():
    with pytest.raises(NotFound):
        export.member_json(5)
