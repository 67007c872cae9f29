"""What SQLite leaves in the unused space of its pages is overwritten, while others go on reading and writing."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from memory.index.pages import CHUNK, files_that_hold, overwrite_unallocated, unallocated

ROWS = 4_000


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "some.db"
    database = connect(path)
    database.execute("PRAGMA page_size = 16384")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE memory_installationstate (name TEXT PRIMARY KEY, value TEXT, at TEXT)")
    database.execute("CREATE TABLE said (key TEXT PRIMARY KEY, who TEXT, text TEXT)")
    database.execute("CREATE INDEX said_who ON said (who, text)")
    database.execute("BEGIN")
    for n in range(ROWS):
        who = "zanzibar" if n % 2 else "harbour"
        database.execute(
            "INSERT INTO said VALUES (?, ?, ?)", (f"{n * 7919 % ROWS:06}", who, f"{who} {n} " * 5)
        )
    database.execute("COMMIT")
    yield path
    database.close()


def connect(path):
    database = sqlite3.connect(path, isolation_level=None, timeout=20, check_same_thread=False)
    database.execute("PRAGMA secure_delete = ON")
    return database


def forget(path):
    database = connect(path)
    for part in range(20):  # all over the table, so that pages are joined while some of hers are still there
        database.execute(
            "DELETE FROM said WHERE who = 'zanzibar' AND CAST(key AS INTEGER) / 3 % 20 = ?", (part,)
        )
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def holds(path, needle):
    log = path.with_name(path.name + "-wal")
    return bool(files_that_hold([path, log], [needle]))


def check(path):
    database = connect(path)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    kept = database.execute("SELECT count(*), min(who), max(who) FROM said").fetchone()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return kept


def leave_a_copy(path):
    """As SQLite does when it moves cells between pages: the old ones stay where no cell is any more."""
    size = 16384
    with path.open("r+b") as file:
        for number in range(1, path.stat().st_size // size):
            file.seek(number * size)
            space = unallocated(file.read(size), first=False)
            if space and space[1] - space[0] > 100:
                file.seek(number * size + space[0] + 20)
                file.write(b"zanzibar")


def test_copies_in_unused_space_are_overwritten_and_nothing_else(path):
    forget(path)
    leave_a_copy(path)
    assert holds(path, b"zanzibar")
    result = overwrite_unallocated(path, seconds=60)
    assert result.done and result.pages > 0
    assert check(path) == (ROWS // 2, "harbour", "harbour")
    assert not holds(path, b"zanzibar") and holds(path, b"harbour")
    assert overwrite_unallocated(path, seconds=60).pages <= 1  # of the row that it writes itself


def test_others_read_and_write_meanwhile_and_bring_nothing_back(path):
    forget(path)
    leave_a_copy(path)
    stop = threading.Event()
    written = []

    def write():
        other = connect(path)
        while not stop.is_set():
            # Pages all over the table, from the memory of a connection that read them before they were cleaned.
            n = len(written)
            other.execute(
                "INSERT INTO said VALUES (?, 'new', ?)", (f"{n * 61 % ROWS:06}+{n}", f"new {n} " * 5)
            )
            written.append(n)
            other.execute("SELECT count(text) FROM said").fetchone()
        other.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        result = overwrite_unallocated(path, seconds=60)
    finally:
        stop.set()
        writer.join()
    assert result.done and result.pages > 0
    assert check(path) == (ROWS // 2 + len(written), "harbour", "new" if written else "harbour")
    assert not holds(path, b"zanzibar")


def test_a_reader_of_an_old_state_puts_it_off(path):
    forget(path)
    reader, writer = connect(path), connect(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM said").fetchone()
    writer.execute("INSERT INTO said VALUES ('x', 'new', 'new')")
    result = overwrite_unallocated(path, seconds=0.5)
    assert not result.done and result.pages == 0
    reader.close()
    writer.close()
    assert overwrite_unallocated(path, seconds=60).done


def test_only_pages_of_a_tree_have_unallocated_space():
    page = bytearray(512)
    page[0], page[3:5], page[5:7] = 13, (3).to_bytes(2, "big"), (400).to_bytes(2, "big")
    assert unallocated(bytes(page), first=False) == (8 + 6, 400)
    page[0] = 2
    assert unallocated(bytes(page), first=False) == (12 + 6, 400)
    page[0] = 0  # an overflow page begins with the number of the next
    assert unallocated(bytes(page), first=False) is None
    page[0], page[5:7] = 13, (10).to_bytes(2, "big")
    assert unallocated(bytes(page), first=False) is None
    first = bytes(100) + bytes([13, 0, 0, 0, 1, 1, 0]) + bytes(405)
    assert unallocated(first, first=True) == (110, 256)


@pytest.mark.parametrize("shift", [-7, -6, -3, -1, 0, 1])
def test_a_needle_is_found_wherever_the_file_is_cut_for_reading(tmp_path, shift):
    path = tmp_path / "some.log"
    for round_ in (1, 2):
        filling = bytes(round_ * CHUNK + shift)
        path.write_bytes(filling + b"zanzibar" + bytes(100))
        assert files_that_hold([path], [b"nobody", b"zanzibar"]) == [path]
        assert files_that_hold([path], [b"zanzibaz"]) == []
    path.write_bytes(b"zanzi" + bytes(CHUNK) + b"bar")
    assert files_that_hold([path], [b"zanzibar"]) == []


def test_a_file_that_is_shorter_than_the_needle(tmp_path):
    path = tmp_path / "some.log"
    path.write_bytes(b"zan")
    assert files_that_hold([path], [b"zanzibar"]) == []
    assert files_that_hold([path], [b"zanzibar", b"n"]) == [path]
