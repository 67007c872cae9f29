"""``migrate_storage``: everything arrives, what cannot be trusted is said, and the source is only read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from memory.conf import get_config
from memory.errors import ConfigurationError, Conflict, InvalidInput
from memory.index import databases
from memory.models import Channel, Guild, InstallationState, Member, Message
from memory.retrieval import operator_search
from memory.storage import move, rows
from memory.storage.move import RECEIPTS
from memory.storage.target import UNFINISHED, models_of_all, opened, serving
from tests.factories import MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _may_open_another(
    transactional_db: None, django_db_blocker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Django's tests refuse connections that are not in the settings; opening one is what is tested here."""
    monkeypatch.setattr(BaseDatabaseWrapper, "ensure_connection", django_db_blocker._real_ensure_connection)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/moved/memory.db"


@pytest.fixture
def community() -> None:
    call_command("sample_community", verbosity=0)


def test_rows_vectors_and_words_arrive_and_are_compared(community: None, url: str) -> None:
    stored = Message.objects.count()
    before_moving = {model: rows.sum_of(model, "default").digest for model in models_of_all()}
    report = move(url)
    assert {model: rows.sum_of(model, "default").digest for model in models_of_all()} == before_moving
    tables = report.tables
    assert tables["memory_message"]["rows"] == stored > 300
    assert (
        next(table["rows"] for name, table in tables.items() if name.startswith("memory_vectors_")) == stored
    )
    assert tables["memory_message"]["sha256"] == rows.sum_of(Message, "default").digest
    before, _ = operator_search.search(text="harbour ferry", mode="keyword")
    with opened(url) as target, serving(target):
        assert Message.objects.count() == stored
        after, _ = operator_search.search(text="harbour ferry", mode="keyword")
        assert {hit.key for hit in after} == {hit.key for hit in before} != set()
        nearest, _ = operator_search.search(text="harbour ferry", mode="semantic", limit=5)
        assert len(nearest) == 5
        assert UNFINISHED not in connection.introspection.table_names()
    assert Message.objects.count() == stored


def test_running_numbers_go_on_where_they_were(url: str) -> None:
    MessageFactory()
    last = Guild.objects.order_by("ordinal").last()
    assert last is not None
    move(url)
    with opened(url) as target, serving(target):
        assert Guild.objects.create(discord_id=12).ordinal > last.ordinal


def test_a_target_that_holds_something_is_refused_unless_it_may_be_replaced(url: str) -> None:
    MessageFactory(text="the first")
    move(url)
    with pytest.raises(Conflict, match="not empty"):
        move(url)
    Message.objects.update(text="the second")
    move(url, replace=True)
    with opened(url) as target, serving(target):
        assert Message.objects.get().text == "the second"


def test_tables_of_others_are_never_removed(url: str) -> None:
    with opened(url) as target, target.cursor() as cursor:
        cursor.execute("CREATE TABLE accounts (balance integer)")
    with pytest.raises(Conflict, match="not Musebot's"):
        move(url, replace=True)
    with opened(url) as target:
        assert target.introspection.table_names() == ["accounts"]


def test_a_move_that_was_broken_off_begins_anew(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MessageFactory()
    with monkeypatch.context() as patch:
        patch.setattr("memory.storage.indexes.rebuild_words", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            move(url)
    assert move(url).tables["memory_message"]["rows"] == 1


def test_a_target_that_became_different_is_not_to_be_used(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MessageFactory()

    def spoil() -> None:
        Message.objects.update(text="something else")

    monkeypatch.setattr("memory.storage.indexes.rebuild_words", spoil)
    with pytest.raises(Conflict, match="memory_message"):
        move(url)


def test_every_model_is_moved(url: str) -> None:
    from django.apps import apps

    tables = move(url).tables
    assert {model._meta.db_table for model in apps.get_models(include_auto_created=True)} <= tables.keys()


def test_rows_that_refer_to_each_other_in_any_order(url: str) -> None:
    thread = MessageFactory(channel__parent=None).channel
    parent = Channel.objects.create(discord_id=thread.discord_id + 1, guild=thread.guild)
    Channel.objects.filter(pk=thread.pk).update(parent=parent)
    move(url)
    with opened(url) as target, serving(target):
        assert Channel.objects.get(pk=thread.pk).parent_id == parent.pk


def test_the_receipt_names_tables_and_hashes_and_no_password(url: str) -> None:
    MessageFactory()
    report = move(url)
    lines = (get_config().database_path.with_name(RECEIPTS)).read_text().splitlines()
    assert json.loads(lines[-1])["tables"] == report.tables


@pytest.mark.parametrize(
    "wrong", ["mysql://host/name", "sqlite:///", "postgres://host", "postgres://h/n?sslmod=require"]
)
def test_an_address_that_cannot_be_used_is_said(wrong: str) -> None:
    with pytest.raises(ConfigurationError):
        move(wrong)


def test_a_server_that_does_not_answer_is_said() -> None:
    with pytest.raises(InvalidInput, match="cannot be reached"):
        move("postgres://nobody@127.0.0.1:1/nothing")


def test_the_storage_that_serves_is_no_target() -> None:
    settings = connections["default"].settings_dict
    if connection.vendor == "sqlite":
        here = f"sqlite:///{settings['NAME']}"
    else:
        here = f"postgres://{settings['USER']}@/{settings['NAME']}?host={settings['HOST']}&port={settings['PORT']}"
    with pytest.raises(CommandError, match="serves now"):
        call_command("migrate_storage", to=here)


def test_values_compare_as_what_they_are() -> None:
    one, other = rows.Sum(), rows.Sum()
    one.add({"b": 1.0, "a": [True, None]}, "x")
    other.add({"a": [True, None], "b": 1}, "x")
    assert one.digest == other.digest
    other.add("more")
    assert one.digest != other.digest


def test_the_order_of_rows_is_no_part_of_the_hash() -> None:
    one, other = rows.Sum(), rows.Sum()
    for value in ("a", "B", "ä"):
        one.add(value)
    for value in ("ä", "B", "a"):
        other.add(value)
    assert one.digest == other.digest


def test_states_with_any_content_survive(url: str) -> None:
    value = {"text": "ünïcödé \u2028 🎉", "deep": [{"n": 0.1, "big": 2**53, "none": None}], "yes": True}
    InstallationState.objects.create(name="anything", value=value)
    move(url)
    with opened(url) as target, serving(target):
        assert InstallationState.objects.get(name="anything").value == value


def test_urls_are_read_as_people_write_them() -> None:
    found = databases.postgres("postgresql://ada:s%40cret@db.example:6543/muse%2Dbot?sslmode=require")
    assert (found["USER"], found["PASSWORD"], found["HOST"]) == ("ada", "s@cret", "db.example")
    assert (found["PORT"], found["NAME"], found["OPTIONS"]["sslmode"]) == ("6543", "muse-bot", "require")
    assert databases.postgres("postgres://u@%2Frun%2FPg/n")["HOST"] == "/run/Pg"
    assert databases.postgres("postgres:///n?host=/run/postgresql")["HOST"] == "/run/postgresql"
    assert "s@cret" not in databases.shown(found)
    assert Member.objects.count() == 0
