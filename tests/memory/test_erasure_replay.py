"""After a restored backup the receipts say what was erased since, parts included, and it is erased again."""

from __future__ import annotations

import shutil
import sys
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from memory import capture, consent, erasure
from memory.erasure import Part, checkpoint
from memory.models import ErasedRange, Member, Message, SubjectEpoch
from memory.types import ChannelInfo
from tests.factories import START, incoming
from tests.memory.memory_support import database, files_with, opted_in, say, work

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("receipts")]

PIER = ChannelInfo(1_300_000_000_000_000_003, "pier")


class Backup:
    """The database as it was, brought back as an operator would: the file is copied while nothing runs."""

    def __init__(self, tmp_path):
        self.path = tmp_path / "backup.db"

    def make(self):
        assert checkpoint.empty_log()
        connection.close()
        shutil.copy(database(), self.path)

    def restore(self):
        connection.close()
        for suffix in ("-wal", "-shm"):
            database().with_name(database().name + suffix).unlink(missing_ok=True)
        shutil.copy(self.path, database())


class BackupOfRows:
    """The same on PostgreSQL: every table as it was, kept in a schema that Musebot does not know."""

    def make(self):
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA IF EXISTS kept CASCADE")
            cursor.execute("CREATE SCHEMA kept")
            for name in self._tables(cursor, "public"):
                cursor.execute(f"CREATE TABLE kept.{name} AS TABLE public.{name}")

    def restore(self):
        with transaction.atomic(), connection.cursor() as cursor:
            # Rows that refer to each other come in any order.
            cursor.execute("SET LOCAL session_replication_role = replica")
            kept = self._tables(cursor, "kept")
            for name in self._tables(cursor, "public"):
                cursor.execute(f"DELETE FROM public.{name}" if name in kept else f"DROP TABLE public.{name}")
            for name in kept:
                cursor.execute(f"INSERT INTO public.{name} SELECT * FROM kept.{name}")

    def drop(self):
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA IF EXISTS kept CASCADE")

    @staticmethod
    def _tables(cursor, schema):
        cursor.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename LIKE 'memory\\_%%'", [schema]
        )
        return [name for (name,) in cursor.fetchall()]


@pytest.fixture
def backup(tmp_path):
    if connection.vendor == "sqlite":
        yield Backup(tmp_path)
        return
    kept = BackupOfRows()
    yield kept
    kept.drop()


def forget(someone, **narrow):
    part = Part(**narrow) if narrow else None
    return erasure.run(erasure.request(user_id=someone.id, origin="member", part=part).id)


def replay(*arguments):
    out = StringIO()
    call_command("replay_receipts", *arguments, stdout=out)
    return out.getvalue()


def test_members_and_parts_are_erased_again_and_nothing_else(backup):
    ada, bob, eve = opted_in("ada"), opted_in("bob"), opted_in("eve")
    for someone in (ada, bob, eve):
        say(someone, f"quixotarium {someone.username}", channel=PIER)
        say(someone, f"barnacle {someone.username}")
    backup.make()
    forget(ada)
    forget(bob, channel_id=PIER.id)
    backup.restore()
    assert Message.objects.count() == 6 and not ErasedRange.objects.exists()

    would = replay("--dry-run")
    assert Message.objects.count() == 6 and not ErasedRange.objects.exists() and "would" in would.lower()
    said = replay()

    assert "1 member" in said and "1 part" in said
    assert set(Message.objects.values_list("text", flat=True)) == {
        "barnacle bob",
        "quixotarium eve",
        "barnacle eve",
    }
    assert files_with(b"quixotarium ada") == files_with(b"quixotarium bob") == []
    assert set(Member.objects.values_list("user_id", flat=True)) == {bob.id, eve.id}
    assert capture.record_message(incoming("again", author=bob, channel=PIER)) is None
    assert "nothing" in replay().lower()


def test_what_was_said_after_a_part_was_erased_stays(backup):
    ada = opted_in("ada")
    say(ada, "before", channel=PIER)
    forget(ada, channel_id=PIER.id)
    say(ada, "after", channel=PIER, sent_at=timezone.now())
    backup.make()
    backup.restore()
    assert erasure.replay().erased == 0
    SubjectEpoch.objects.all().delete()
    Member.objects.update(epoch=0)  # as if it were older than the receipt
    erasure.replay()
    assert list(Message.objects.values_list("text", flat=True)) == ["after"]


def test_several_parts_of_one_member_are_all_erased_again(backup):
    ada = opted_in("ada")
    key = say(ada, "one")
    say(ada, "on the pier", channel=PIER)
    say(ada, "long ago", sent_at=START - timedelta(days=30))
    say(ada, "kept", sent_at=START + timedelta(days=1))
    backup.make()
    forget(ada, message_key=key)
    forget(ada, channel_id=PIER.id)
    forget(ada, until=START - timedelta(days=1))
    backup.restore()
    found = erasure.replay()
    assert (found.members, found.parts, found.ranges, found.unfinished) == (0, 3, 3, 0)
    assert list(Message.objects.values_list("text", flat=True)) == ["kept"]
    assert erasure.replay().erased == 0


def test_a_replay_that_is_killed_is_ended_by_the_worker(backup, monkeypatch):
    ada = opted_in("ada")
    say(ada, "on the pier", channel=PIER), say(ada, "long ago", sent_at=START - timedelta(days=30))
    backup.make()
    forget(ada, channel_id=PIER.id)
    forget(ada, until=START - timedelta(days=1))
    backup.restore()
    module = sys.modules["memory.erasure.replay"]

    def killed(request_id):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "run", killed)
        with pytest.raises(KeyboardInterrupt):
            erasure.replay()
    work("erase")
    assert not Message.objects.exists()


def test_work_of_the_backups_time_is_refused_for_who_is_not_in_it(backup):
    ada = opted_in("ada")
    backup.make()
    forget(ada)
    backup.restore()
    Member.objects.all().delete()
    SubjectEpoch.objects.all().delete()
    erasure.replay()
    assert SubjectEpoch.objects.get().epoch == 1 and consent.find(ada.id) is None


def test_a_file_from_elsewhere_is_taken_and_lines_that_cannot_be_read_are_told(backup, tmp_path, receipts):
    ada = opted_in("ada")
    say(ada, "hello")
    backup.make()
    forget(ada)
    elsewhere = tmp_path / "kept.jsonl"
    elsewhere.write_text(receipts.read_text() + '{"subject": "x", "epoch": 1}\n{"cut off by a cra')
    receipts.unlink()
    backup.restore()
    assert "1 line" in replay(str(elsewhere))
    assert not Message.objects.exists()
    with pytest.raises(CommandError, match="no such file"):
        replay(str(tmp_path / "missing.jsonl"))
