"""*Why this answer?*: moderators and the one who asked are told; nobody is shown what they cannot read themselves."""

import json
from datetime import timedelta

import pytest

from botrunner import explaining
from botrunner.cogs.why import NAME, Reader, WhyCog
from botrunner.explaining import Asked, Place, explain
from memory import blocks, consent, facts
from memory.models import AuditEntry, Fact, Reply, ReplyBlock, ReplyFact, ReplyMemory
from tests.botrunner import discord_objects as objects
from tests.factories import START, ChannelFactory, GuildFactory, MemberFactory, MessageFactory, snowflake

pytestmark = pytest.mark.django_db

VIEW, HISTORY, MANAGE_MESSAGES, MANAGE_THREADS, CONNECT = 1 << 10, 1 << 16, 1 << 13, 1 << 34, 1 << 20


class Story:
    """One answer to Ada that leaned on what Ben said in a public channel and Cleo in a closed one."""

    def __init__(self):
        self.guild = GuildFactory()
        self.open, self.closed = (
            ChannelFactory(guild=self.guild, name=name) for name in ("general", "staff-only")
        )
        self.ada, self.ben, self.cleo = (
            MemberFactory(display_name=name) for name in ("Ada", "Ben *Bold*", "Cleo")
        )
        self.question_id, self.first, self.second = snowflake(), snowflake(), snowflake()
        self.question = MessageFactory(
            channel=self.open, member=self.ada, discord_id=self.question_id, text="When?"
        )
        self.answer = MessageFactory(
            channel=self.open, member=self.ada, discord_id=self.first, is_bot=True, text="At noon."
        )
        self.reply = Reply.objects.create(
            guild=self.guild,
            channel_id=self.open.discord_id,
            asker_id=self.ada.user_id,
            trigger_id=self.question_id,
            question=self.question,
            answer=self.answer,
            state="done",
            kind="model",
            model="llama",
            timings={"total": 1234.0},
        )
        self.said = MessageFactory(
            channel=self.open,
            member=self.ben,
            text="Noon, see https://evil.example [here](https://evil.example) @everyone",
            sent_at=START - timedelta(days=1),
        )
        self.secret = MessageFactory(channel=self.closed, member=self.cleo, text="The vault code is 1234.")
        for rank, row in enumerate((self.said, self.secret), 1):
            ReplyMemory.objects.create(
                reply=self.reply, message=row, rank=rank, score=1.0, scores={"bm25": 2.0}
            )
        left = MessageFactory(channel=self.open, member=self.ben, text="Unrelated words.")
        ReplyMemory.objects.create(
            reply=self.reply, message=left, rank=3, score=0.1, injected=False, why_excluded="score"
        )

    def explain(self, viewer, *, moderates=False, parts=None, asker=None, question=True, may_read=None):
        asked = Asked(
            viewer_id=viewer,
            guild_id=self.guild.discord_id,
            parts=parts or (self.first,),
            question_id=self.question_id if question else None,
            questioner_id=asker,
            moderates=moderates,
        )
        return explain(asked, may_read or (lambda place: place.channel_id == self.open.discord_id))


@pytest.fixture
def story():
    return Story()


def test_a_moderator_is_told_what_they_can_read(story):
    text = story.explain(snowflake(), moderates=True)
    assert "leaned on 2 memories" in text and "shares words with the question" in text
    assert f"<t:{int(story.said.sent_at.timestamp())}:d>" in text
    assert (
        f"https://discord.com/channels/{story.guild.discord_id}/{story.open.discord_id}/{story.said.discord_id}"
        in text
    )
    assert "vault" not in text and "Cleo" not in text and "staff-only" not in text
    assert "1 memory from places that you cannot read" in text
    assert "1 not close enough to the question" in text and "llama · 1.2 s" in text


def test_words_of_others_do_nothing(story):
    text = story.explain(snowflake(), moderates=True)
    assert "https://evil.example" not in text and "@everyone" not in text
    assert "](" not in text.replace("[message](https://discord.com/", "")
    assert "**Ben \\*Bold\\***" in text


def test_the_one_who_asked_is_told_what_is_theirs(story):
    facts.remember(story.ada.user_id, "Owns a dinghy", trusted=True)
    fact = Fact.objects.get(member=story.ada)
    ReplyFact.objects.create(reply=story.reply, fact=fact)
    given = consent.find(story.ada.user_id)
    blocks.append(
        blocks.human(story.ada.user_id),
        "Sails.",
        actor=blocks.Actor("model", story.ada.user_id, consent=given),
    )
    row = blocks.get(blocks.human(story.ada.user_id))
    ReplyBlock.objects.create(reply=story.reply, block_id=row.id, version=1)
    own = story.explain(story.ada.user_id)
    assert "1 fact about you: Owns a dinghy" in own and "My notes: human" in own
    assert "vault" not in own and "/replies/" not in own
    moderator = story.explain(snowflake(), moderates=True)
    assert "1 fact about who asked" in moderator and "dinghy" not in moderator


def test_ones_own_words_are_shown_wherever_they_were_said(story):
    story.secret.member, story.secret.author_id = story.ada, story.ada.user_id
    story.secret.save()
    assert "vault" in story.explain(story.ada.user_id)


def test_others_are_refused_whatever_there_is(story):
    stranger = snowflake()
    for parts in ((story.first,), (snowflake(),)):
        assert story.explain(stranger, parts=parts, question=False) == explaining.NOT_FOR_YOU
    assert story.explain(story.ben.user_id) == explaining.NOT_FOR_YOU, "being quoted is not having asked"
    assert story.explain(stranger, asker=story.ada.user_id) == explaining.NOT_FOR_YOU


def test_any_part_leads_to_the_reply(story):
    moderator = snowflake()
    assert "leaned on" in story.explain(moderator, moderates=True, parts=(story.second, story.first))
    assert "leaned on" in story.explain(moderator, moderates=True, parts=(story.second,))
    alone = story.explain(moderator, moderates=True, parts=(story.second,), question=False)
    assert alone == explaining.NO_TRACE


def test_somebody_who_has_not_opted_in_is_told_too(story):
    """Nothing of theirs is stored: Discord alone knows who asked."""
    stranger = snowflake()
    Reply.objects.filter(id=story.reply.id).update(asker_id=None, question=None, answer=None)
    assert "leaned on 2 memories" in story.explain(stranger, asker=stranger)
    assert story.explain(stranger, asker=None) == explaining.NOT_FOR_YOU


def test_the_link_is_for_moderators_and_needs_an_address(story, settings):
    assert "in the dashboard" not in story.explain(snowflake(), moderates=True)
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"public_url": "https://bot.example"})
    text = story.explain(snowflake(), moderates=True)
    assert f"(<https://bot.example/replies/{story.reply.id}/>)" in text
    assert "bot.example" not in story.explain(story.ada.user_id)


def test_every_look_is_recorded_without_naming_anybody(story):
    moderator = snowflake()
    story.explain(moderator, moderates=True)
    story.explain(snowflake())
    seen, refused = AuditEntry.objects.order_by("number")
    assert (seen.action, seen.result, seen.object_id) == ("reply.viewed", "ok", str(story.reply.id))
    assert seen.guild == story.guild.discord_id and str(moderator) not in json.dumps(seen.actor)
    assert refused.result == "denied"


def test_what_cannot_be_recorded_is_not_shown(story, monkeypatch):
    def broken(**_):
        raise RuntimeError("disk full")

    monkeypatch.setattr("memory.audit.record", broken)
    with pytest.raises(RuntimeError):
        story.explain(snowflake(), moderates=True)


def test_no_memory_is_said(story):
    ReplyMemory.objects.filter(reply=story.reply).delete()
    assert "No memory was used: beside what had just been said" in story.explain(snowflake(), moderates=True)


def test_a_long_story_fits_into_messages(story):
    for rank in range(4, 40):
        row = MessageFactory(channel=story.open, member=story.ben, text=f"{rank} " + "word " * 400)
        ReplyMemory.objects.create(reply=story.reply, message=row, rank=rank, score=0.9, scores={"bm25": 1.0})
    text = story.explain(snowflake(), moderates=True)
    assert "and 29 more" in text and len(text) < 6000


# -- who can read what, by Discord's permissions
class Used:
    """An interaction, as far as it says who and where."""

    def __init__(self, guild, channel, user):
        import discord

        self.guild, self.channel_id, self.user = guild, channel.id, user
        self.permissions = channel.permissions_for(user) if guild else discord.Permissions.all()


def server(*, roles=()):
    ids = {name: snowflake() for name in ("guild", "open", "closed", "voice", "ada", "staff")}
    data = {
        "id": ids["guild"],
        "everyone": VIEW | HISTORY,
        "roles": [objects.role_data(ids["staff"], "staff", MANAGE_MESSAGES | MANAGE_THREADS)],
        "members": [objects.member_data(ids["ada"], "ada", [ids["staff"]] if "staff" in roles else [])],
        "channels": [
            objects.channel_data(ids["open"]),
            objects.channel_data(ids["closed"], overwrites=[objects.overwrite(ids["guild"], deny=VIEW)]),
            objects.channel_data(ids["voice"], type=objects.VOICE),
        ],
    }
    guild = objects.guild(**data)
    return guild, ids


def test_reading_follows_discords_permissions(db):
    guild, ids = server()
    ada = guild.get_member(ids["ada"])
    reader = Reader(Used(guild, guild.get_channel(ids["open"]), ada))
    seen = {name: reader.may_read(Place(ids[name], None, False)) for name in ("open", "closed", "voice")}
    assert seen == {"open": True, "closed": False, "voice": False}, "voice takes the permission to connect"
    assert not reader.may_read(Place(snowflake(), None, False)), "a channel that is not known"
    assert reader.may_read(Place(snowflake(), ids["open"], False)), "a public thread is like its channel"
    assert not reader.may_read(Place(snowflake(), ids["closed"], False))
    assert not reader.may_read(Place(snowflake(), ids["open"], True)), "a private thread"


def test_who_manages_threads_can_read_private_ones(db):
    guild, ids = server(roles=("staff",))
    ada = guild.get_member(ids["ada"])
    reader = Reader(Used(guild, guild.get_channel(ids["open"]), ada))
    assert reader.may_read(Place(snowflake(), ids["open"], True))
    assert not reader.may_read(Place(snowflake(), ids["closed"], True))


def test_in_private_only_that_conversation_is_read(db):
    class Private:
        guild, channel_id, user = None, 77, None

        class permissions:
            manage_threads = True

    reader = Reader(Private())
    assert reader.may_read(Place(77, None, False)) and not reader.may_read(Place(78, None, False))


def test_the_command_is_for_messages_everywhere():
    menu = WhyCog(bot=None).menu
    assert (menu.name, menu.type.name) == (NAME, "message")
    assert menu.default_permissions is None, "whoever asked has to see it as well"
    assert menu.allowed_contexts.guild and menu.allowed_contexts.dm_channel
