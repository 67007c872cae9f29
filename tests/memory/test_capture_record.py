"""What is stored of a message: key, record, names, counts; once only."""

from datetime import date, timedelta

import pytest

from memory import backends, capture
from memory.conf import ModelRef
from memory.index.base import GUILD_SHIFT
from memory.models import Channel, DailyCount, Guild, GuildMember, InstallationState, Member, Message
from memory.types import AttachmentInfo, ChannelInfo, GuildInfo
from tests.factories import START, incoming, person, snowflake
from tests.memory.memory_support import found_by_words, message, opted_in, say

pytestmark = pytest.mark.django_db


def test_the_key_holds_the_guild_and_counts_up():
    ada = opted_in("ada")
    first, second = say(ada, "one"), say(ada, "two")
    other = say(ada, "three", guild=GuildInfo(id=snowflake()), channel=ChannelInfo(id=snowflake()))
    ordinal = Guild.objects.order_by("ordinal").first().ordinal
    assert (first, second) == ((ordinal << GUILD_SHIFT) + 1, (ordinal << GUILD_SHIFT) + 2)
    assert other == ((ordinal + 1) << GUILD_SHIFT) + 1


def test_the_same_message_is_stored_once():
    ada = opted_in("ada")
    one = incoming("hello", author=ada)
    assert capture.record_message(one) == capture.record_message(one, source="backfill")
    assert Message.objects.count() == 1
    assert Guild.objects.get().message_count == 1


def test_the_record_has_the_shape_of_the_specification():
    ada = person("ada", roles=((5, "captain"),))
    from memory import consent

    consent.give(person=ada, origin="discord")
    parent = ChannelInfo(id=10, name="boats", topic="sails")
    thread = ChannelInfo(id=11, name="repairs", kind="public_thread", parent=parent)
    helper = person("helper", is_bot=True)
    sent = incoming(
        "hello",
        author=ada,
        channel=thread,
        mentions_users=(helper,),
        mentions_roles=((6, "crew"),),
        mentions_everyone=True,
    )
    assert message(capture.record_message(sent)).content == {
        "messageId": str(sent.id),
        "username": "ada",
        "displayName": "Ada",
        "userId": str(ada.id),
        "isBot": False,
        "message": "hello",
        "datetime": "2026-03-01T12:00:00.000Z",
        "roles": [{"id": "5", "name": "captain"}],
        "channel": {"id": "11", "name": "repairs", "topic": ""},
        "thread": {"id": "11", "name": "repairs", "parentId": "10"},
        "server": {"id": str(sent.guild.id), "name": "Harbour"},
        "mentions": {
            "users": [
                {"id": str(helper.id), "username": "helper", "displayName": "Helper", "isBot": True},
            ],
            "roles": [{"id": "6", "name": "crew"}],
            "everyone": True,
        },
        "attachments": [],
    }


def test_words_are_found_at_once():
    key = say(opted_in("ada"), "the lighthouse keeper")
    assert found_by_words("lighthouse") == [key]
    assert found_by_words("ada") == [key]


def test_counts_are_kept():
    ada, bob = opted_in("ada"), opted_in("bob")
    say(ada, "one")
    say(ada, "two", sent_at=START + timedelta(days=1))
    say(bob, "three")
    assert Guild.objects.get().message_count == 3
    assert Channel.objects.get().message_count == 3
    assert Member.objects.get(user_id=ada.id).message_count == 2
    assert GuildMember.objects.get(member_id=bob.id).message_count == 1
    days = DailyCount.objects.filter(member_id=ada.id).order_by("day").values_list("day", "count")
    assert list(days) == [(date(2026, 3, 1), 1), (date(2026, 3, 2), 1)]


def test_a_member_is_called_as_in_their_newest_message():
    ada = opted_in("ada")
    renamed = person("ada", id=ada.id, display_name="Captain Ada")
    say(renamed, "new", sent_at=START + timedelta(days=2))
    capture.record_message(incoming("old", author=ada, sent_at=START), source="backfill")
    assert Member.objects.get().display_name == "Captain Ada"
    assert GuildMember.objects.get().display_name == "Captain Ada"
    assert Member.objects.get().last_message_at == START + timedelta(days=2)


def test_text_that_a_database_cannot_hold_is_cleaned():
    key = say(opted_in("ada"), "zero\0 and half \ud83d of a pair")
    assert message(key).text == "zero and half ? of a pair"


@pytest.mark.parametrize("text", ["", "  \n ", "\0"])
def test_nothing_said_is_not_stored(text):
    assert capture.record_message(incoming(text, author=opted_in("ada"))) is None


@pytest.mark.parametrize("sees", [True, False])
def test_a_chat_model_that_sees_makes_an_image_alone_a_memory(settings, sees):
    chat = settings.MUSEBOT.chat.model_copy(update={"model": ModelRef(provider="ollama", name="gemma3")})
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"chat": chat})
    InstallationState.objects.create(name=backends.VISION, value={"model": "ollama:gemma3", "sees": sees})
    image = AttachmentInfo(
        id=1, filename="boat.png", url="https://cdn.example/boat.png", content_type="image/png"
    )
    sent = incoming("", author=opted_in("ada"), attachments=(image,))
    assert (capture.record_message(sent) is not None) is sees


def test_images_alone_are_stored_where_they_can_be_described(settings):
    ada = opted_in("ada")
    picture = AttachmentInfo(
        id=1, filename="boat.png", url="https://cdn.example/boat.png", content_type="image/png"
    )
    sent = incoming("", author=ada, attachments=(picture,))
    assert capture.record_message(sent) is None
    vision = settings.MUSEBOT.memory.model_copy(
        update={"vision_model": ModelRef(provider="ollama", name="llava")}
    )
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"memory": vision})
    row = message(capture.record_message(sent))
    assert row.embedding == "none"
    assert row.content["attachments"][0]["filename"] == "boat.png"


def test_messages_of_bots_are_no_members_messages():
    bot = opted_in("robot", is_bot=True)
    assert capture.record_message(incoming("beep", author=bot)) is None
