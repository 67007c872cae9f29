"""The audit's chain: one entry after the other, and every way of touching it shows."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from memory import audit, consent
from memory.models import AuditEntry, AuditHead
from memory.pseudonyms import subject_hash
from tests.factories import GuildFactory, person, snowflake

pytestmark = pytest.mark.django_db
TABLE = AuditEntry._meta.db_table


def write(count: int = 5) -> None:
    for number in range(count):
        audit.record(actor="admin:1", action="memory.viewed", kind="memory", object_id=str(number))


def sql(statement: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def test_an_empty_audit_is_whole():
    assert audit.verify() == audit.Verification(0, "")


def test_entries_are_numbered_and_chained():
    write(3)
    rows = list(AuditEntry.objects.order_by("number"))
    assert [row.number for row in rows] == [1, 2, 3]
    assert [row.hash for row in rows] == [
        audit.entry_hash(before, row)
        for before, row in zip(["", rows[0].hash, rows[1].hash], rows, strict=True)
    ]
    found = audit.verify()
    assert found.whole and found.entries == 3 and found.last_hash == rows[-1].hash


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("actor", "admin:2"),
        ("action", "memory.listed"),
        ("kind", "fact"),
        ("object_id", "9"),
        ("guild", 7),
        ("result", "denied"),
        ("counts", '{"memories": 1}'),
    ],
)
def test_a_changed_field_breaks_it_there(column, value):
    write()
    sql(f"UPDATE {TABLE} SET {column} = %s WHERE number = 3", value)
    found = audit.verify()
    assert found.broken_at == 3 and "changed" in found.reason and found.entries == 2


def test_a_moved_time_breaks_it():
    write()
    row = AuditEntry.objects.get(number=2)
    sql(f"UPDATE {TABLE} SET at = %s WHERE number = 2", row.at - timedelta(microseconds=1))
    assert audit.verify().broken_at == 2


@pytest.mark.parametrize("number", [1, 3])
def test_a_removed_entry_breaks_it(number):
    write()
    sql(f"DELETE FROM {TABLE} WHERE number = %s", number)
    found = audit.verify()
    assert found.broken_at == number and "missing" in found.reason


def test_removing_the_last_entries_breaks_it():
    write()
    sql(f"DELETE FROM {TABLE} WHERE number > 3")
    found = audit.verify()
    assert found.broken_at == 4 and "last entries" in found.reason


def test_a_chain_that_was_computed_anew_is_not_sealed():
    """Whoever can write to the database, but has no key, forges entries and the head, and goes on using the dashboard."""
    write()
    row = AuditEntry.objects.get(number=4)
    row.actor = "admin:9"
    row.hash = audit.entry_hash(AuditEntry.objects.get(number=3).hash, row)
    sql(f"UPDATE {TABLE} SET actor = %s, hash = %s WHERE number = 4", row.actor, row.hash)
    sql(f"DELETE FROM {TABLE} WHERE number = 5")
    AuditHead.objects.update(number=4, hash=row.hash)
    assert "seal" in audit.verify().reason
    write(1)
    found = audit.verify()
    assert not found.whole and found.broken_at == 5


def test_losing_the_head_shows_for_good():
    write()
    sql(f"DELETE FROM {TABLE} WHERE number > 3")
    AuditHead.objects.all().delete()
    assert not audit.verify().whole
    write(2)
    found = audit.verify()
    assert found.broken_at == 4 and "missing" in found.reason


def test_entries_are_neither_changed_nor_removed_through_the_models():
    write(1)
    row = AuditEntry.objects.get()
    row.actor = "admin:2"
    for act in (
        row.delete,
        AuditEntry.objects.all().delete,
        lambda: AuditEntry.objects.update(actor="admin:2"),
        row.save,
    ):
        with pytest.raises(Exception) as refused, transaction.atomic():
            act()
        assert refused.type.__name__ in {"TypeError", "IntegrityError"}
    assert audit.verify().whole


def test_what_is_rolled_back_leaves_neither_an_entry_nor_a_gap():
    write(1)

    @transaction.atomic
    def fail() -> None:
        write(1)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    write(1)
    assert audit.verify().entries == 2


def test_nobodys_id_stands_in_it():
    user_id, private = snowflake(), GuildFactory(kind="dm")
    server = GuildFactory()
    audit.record(
        actor=audit.member(user_id),
        action="member.viewed",
        kind="member",
        object_id=subject_hash(user_id),
        guild=private.discord_id,
    )
    audit.record(actor="command", action="memory.erased", kind="memory", guild=server.discord_id)
    audit.record(actor="command", action="memory.erased", kind="memory", guild=snowflake())
    first, second, third = AuditEntry.objects.order_by("number")
    assert str(user_id) not in str(vars(first)) and first.guild is None
    assert second.guild == server.discord_id
    assert third.guild is None, "what is not known to be a server may be a private conversation"


def test_the_command_says_whether_it_is_whole(capsys):
    call_command("verify_audit")
    assert "empty" in capsys.readouterr().out
    write()
    noted = AuditEntry.objects.get(number=2).hash
    call_command("verify_audit", "--holds", noted)
    assert "5 entries" in capsys.readouterr().out
    with pytest.raises(CommandError, match="No entry has this hash"):
        call_command("verify_audit", "--holds", "0" * 64)
    sql(f"UPDATE {TABLE} SET actor = 'x' WHERE number = 2")
    with pytest.raises(CommandError, match="broken at entry 2"):
        call_command("verify_audit")


@pytest.mark.django_db(transaction=True)
def test_writers_at_once_keep_one_chain():
    errors: list[BaseException] = []
    begin = threading.Barrier(4)

    def work() -> None:
        try:
            begin.wait(timeout=30)
            write(10)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    found = audit.verify()
    assert found.whole and found.entries == 40


def test_consent_that_is_given_and_withdrawn_is_recorded_by_the_member():
    someone = person()
    consent.give(person=someone, origin="discord")
    consent.give(person=someone, origin="discord")
    consent.withdraw(user_id=someone.id, origin="member")
    consent.withdraw(user_id=snowflake(), origin="member")
    me = audit.member(someone.id)
    found = AuditEntry.objects.order_by("number").values_list("actor", "action", "object_id")
    assert list(found) == [
        (me, "consent.given", subject_hash(someone.id)),
        (me, "consent.withdrawn", subject_hash(someone.id)),
    ]
