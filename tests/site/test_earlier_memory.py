"""A memory of Musebot where ours belongs is set aside before anything is migrated, and offered."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from musebot_site import earlier_memory
from tests.memory.musebot_support import ADA, MusebotDatabase

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def place(tmp_path):
    return tmp_path / "workflows" / "musebot" / "txt2txt" / "memory.db"


def theirs(path, *, log=False):
    old = MusebotDatabase(path)
    if log:
        old.with_log()
    old.consent(ADA)
    old.say("I keep bees")
    return old.done_with_log() if log else old.done()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_it_is_moved_with_its_log_untouched(place):
    before = contents(theirs(place, log=True).parent)
    target = earlier_memory.set_aside(place)
    assert target == place.with_name("memory.musebot.db") and earlier_memory.found(place) == [target]
    assert contents(place.parent) == {
        name.replace("memory.db", "memory.musebot.db"): data for name, data in before.items()
    }
    assert earlier_memory.set_aside(place) is None


def test_one_whose_tables_stand_in_the_log_alone_is_recognised(place):
    place.parent.mkdir(parents=True)
    sqlite3.connect(place).execute("PRAGMA journal_mode = WAL").close()
    old = MusebotDatabase.__new__(MusebotDatabase)
    connection = sqlite3.connect(place, isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("CREATE TABLE LlmChatMessage(id, userId, content)")
    old.path, old.connection = place, connection
    old.done_with_log()
    assert earlier_memory.set_aside(place) == place.with_name("memory.musebot.db")
    assert place.with_name("memory.musebot.db-wal").stat().st_size > 0


def test_a_move_that_was_interrupted_is_completed(place):
    theirs(place, log=True)
    os.replace(f"{place}-wal", place.with_name("memory.musebot.db-wal"))
    assert earlier_memory.set_aside(place) == place.with_name("memory.musebot.db")
    assert not place.exists()


def test_another_one_gets_another_name(place):
    theirs(place), earlier_memory.set_aside(place), theirs(place)
    assert earlier_memory.set_aside(place) == place.with_name("memory.musebot-2.db")
    assert len(earlier_memory.found(place)) == 2


@pytest.mark.parametrize("made", ["missing", "empty", "ours", "ours in the log", "no database"])
def test_everything_else_stays(place, made):
    place.parent.mkdir(parents=True)
    connection = None
    if made == "empty":
        place.touch()
    elif made == "no database":
        place.write_text("notes " * 1000)
    elif made != "missing":
        connection = sqlite3.connect(place, isolation_level=None)
        if made == "ours in the log":
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE django_migrations(id)")
    before = contents(place.parent)
    assert earlier_memory.set_aside(place) is None
    assert contents(place.parent) == before
    if connection:
        connection.close()


def test_the_first_command_sets_it_aside_and_the_import_takes_it_over(tmp_path, place):
    theirs(place, log=True)
    environment = {
        **os.environ,
        "MUSEBOT_HOME": str(tmp_path),
        "MUSEBOT_CONFIG": "",
        "MUSEBOT_EMBEDDING_MODEL": "hash",
        "DJANGO_SETTINGS_MODULE": "musebot_site.settings",
    }

    def run(*arguments):
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stderr
        return done

    aside = place.with_name("memory.musebot.db")
    migrated = run("migrate", "--verbosity", "0")
    assert str(aside) in migrated.stderr and "import_musebot" in migrated.stderr
    assert not earlier_memory.is_musebot(place) and earlier_memory.is_musebot(aside)
    assert "1 stored" in run("import_musebot", str(aside)).stdout
