"""Importing a chat: who comes in, whose the bot's answers are, and that twice is once."""

from __future__ import annotations

import pytest

from memory import consent
from memory.capture.importing import import_messages, open_export, user_key
from memory.errors import InvalidInput
from memory.index.base import guild_of
from memory.models import ConsentEvent, Guild, GuildMember, Member, Message, OutboxEntry
from memory.types import GuildInfo, Person
from tests.memory.test_import_files import GUILD, discord_file, exported, line, lines_file

pytestmark = pytest.mark.django_db


def bring(path, **options):
    return import_messages(open_export(path), guild_id=GUILD, **options)


def opt_in(name: str) -> None:
    consent.give(person=Person(user_key(name), name), origin="discord", guild=GuildInfo(GUILD))


@pytest.fixture
def chat(tmp_path):
    return lines_file(
        tmp_path / "chat.jsonl",
        line(id="m1", user_id="ada", text="I keep bees"),
        line(id="m2", user_id="ben", text="I keep newts"),
        line(id="m3", user_id="bot", text="Bees are lovely", is_bot=True, reply_to="m1"),
        line(id="m4", user_id="bot", text="So are newts", is_bot=True, reply_to="m2"),
        line(id="m5", user_id="bot", text="Hello all", is_bot=True),
    )


def texts() -> set[str]:
    return set(Message.objects.values_list("text", flat=True))


def test_only_members_come_in_with_the_answers_they_got(chat):
    opt_in("ada")
    report = bring(chat)
    assert texts() == {"I keep bees", "Bees are lovely"}
    assert report.stored == 2 and report.read == 5
    assert report.left_out == {"no_consent": 1, "no_trigger": 2}
    answer = Message.objects.get(text="Bees are lovely")
    assert answer.is_bot and answer.member_id == user_key("ada") and answer.source == "import"
    assert not Member.objects.filter(user_id=user_key("ben")).exists()
    assert not Message.objects.filter(content__icontains="newts").exists()


def test_the_operator_may_state_that_all_have_opted_in(chat):
    report = bring(chat, consent_all=True)
    assert report.opted_in == 2 and report.stored == 4
    assert report.left_out == {"no_trigger": 1}
    assert set(Member.objects.values_list("origin", flat=True)) == {"import"}
    assert set(ConsentEvent.objects.values_list("action", "origin")) == {("given", "import")}
    assert not Member.objects.filter(user_id=user_key("bot")).exists()
    guild = Guild.objects.get()
    assert guild.discord_id == GUILD and guild.message_count == 4
    assert {guild_of(key) for key in Message.objects.values_list("key", flat=True)} == {guild.ordinal}
    assert GuildMember.objects.filter(username="Ada").exists()
    assert OutboxEntry.objects.filter(kind="embed").count() == 4


def test_twice_is_once(chat):
    bring(chat, consent_all=True)
    again = bring(chat, consent_all=True)
    assert again.stored == again.opted_in == 0
    assert again.left_out == {"duplicate": 4, "no_trigger": 1}
    assert Message.objects.count() == 4 and Guild.objects.get().message_count == 4


def test_somebody_who_withdrew_is_not_opted_in_again(chat):
    opt_in("ben")
    consent.withdraw(user_id=user_key("ben"), origin="member")
    assert bring(chat, consent_all=True).left_out["erasing"] == 1
    Member.objects.filter(user_id=user_key("ben")).delete()
    assert bring(chat, consent_all=True).left_out["withdrew"] == 1
    assert "I keep newts" not in texts()


def test_somebody_who_paused_stays_paused(chat):
    from django.utils import timezone

    opt_in("ben")
    Member.objects.update(paused_at=timezone.now())
    assert bring(chat, consent_all=True).left_out["no_consent"] == 1
    assert Member.objects.get(user_id=user_key("ben")).paused_at is not None


def test_a_dry_run_writes_nothing_and_tells_the_same(chat):
    report = bring(chat, consent_all=True, dry_run=True)
    for model in (Guild, Member, Message, ConsentEvent, OutboxEntry):
        assert not model.objects.exists()
    real = bring(chat, consent_all=True)
    assert (report.read, report.stored, report.opted_in) == (real.read, real.stored, real.opted_in)
    assert report.left_out == real.left_out


def test_answers_that_come_before_what_they_answer(tmp_path):
    path = lines_file(
        tmp_path / "x.jsonl",
        line(id="m2", user_id="bot", text="Bees are lovely", is_bot=True, reply_to="m1"),
        *[line(id=f"n{number}", text=f"filler {number}") for number in range(450)],
        line(id="m1", text="I keep bees"),
    )
    report = bring(path, consent_all=True)
    assert report.stored == 452 and not report.left_out


def test_a_discord_export_keeps_its_ids_names_and_roles(tmp_path):
    path = discord_file(
        tmp_path / "x.json", [exported(), exported(2, type="GuildMemberJoin"), exported(3, content="")]
    )
    report = bring(path, consent_all=True)
    assert report.left_out == {"system": 1, "empty": 1}
    row = Message.objects.get()
    assert (row.discord_id, row.channel_id) == (1_400_000_000_000_000_001, 1_300_000_000_000_000_002)
    assert row.author_name == "Ada L." and row.content["roles"]
    assert Guild.objects.get().name == "Harbour"


def test_a_file_of_another_server_does_not_rename_this_one(tmp_path):
    path = discord_file(tmp_path / "x.json", [exported()], guild={"id": "5", "name": "Elsewhere"})
    bring(path, consent_all=True)
    assert Guild.objects.get().name == ""


def test_a_file_that_breaks_off_keeps_what_came_before(tmp_path):
    path = discord_file(tmp_path / "x.json", [exported(number) for number in range(1, 451)])
    path.write_text(path.read_text()[:-900])
    with pytest.raises(InvalidInput, match="damaged after message 400"):
        bring(path, consent_all=True)
    assert Message.objects.count() == 400
