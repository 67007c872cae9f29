"""Bytes of erased rows that SQLite leaves in its file, found and overwritten.

``secure_delete`` overwrites a deleted cell where it stood. But when SQLite balances its trees it copies cells between pages and
leaves the old copies in the unallocated space of a page, where nothing ever overwrites them; after an erasure words and ids are
still found there. A VACUUM would remove them and keep all writers out for as long as it takes; this overwrites just that
space, where there is anything in it, a few pages at a time.

Everything here runs in a process of its own (``python -m memory.index.pages``): on POSIX, closing a file drops all locks that
the process holds on it, those of its SQLite connections included.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LEAF_TABLE, LEAF_INDEX, INNER_TABLE, INNER_INDEX = 13, 10, 5, 2
HOLD_SECONDS = 0.08
REST_SECONDS = 0.02
BLOCK_PAGES = 32
SCAN_PAGES = 256
PENDING_BYTE = 0x40000000
"""SQLite keeps its locks here and never uses the page."""
MOST_PAGES = 0x02000000
"""Pages of overflow and of the list of free pages begin with the four bytes of a page's number, big-endian. Below this many pages
the first of them is always 0 or 1, which no page of a tree begins with: that is how the pages of trees are told apart."""
STATE = "pages_overwritten"
"""Name of the row of ``memory_installationstate`` that is written with each step."""
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Overwritten:
    done: bool
    """False if readers or writers left no moment for it; try again later."""
    pages: int = 0
    longest_hold: float = 0.0
    """Seconds that other writers were kept out at most."""


def overwrite_unallocated(path: Path, *, seconds: float) -> Overwritten:
    """Overwrites the unallocated space of all pages of a database in WAL mode, for up to ``seconds``."""
    answer = _in_a_process_of_its_own({"what": "overwrite", "path": str(path), "seconds": seconds})
    return Overwritten(**answer)


def files_that_hold(paths: Sequence[Path], needles: Sequence[bytes]) -> list[Path]:
    """Those of the files that hold any of the needles."""
    request = {
        "what": "search",
        "paths": [str(path) for path in paths],
        "needles": [one.hex() for one in needles],
    }
    found: list[str] = _in_a_process_of_its_own(request)
    return [Path(path) for path in found]


def _in_a_process_of_its_own(request: dict[str, Any]) -> Any:
    # By standard input: what is looked for must not stand in the list of processes.
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    return json.loads(done.stdout)


def unallocated(page: bytes, *, first: bool) -> tuple[int, int] | None:
    """Begin and end of the unallocated space of a page of a tree; None for any other page. ``first``: page 1 has a header more."""
    header = 100 if first else 0
    kind = page[header]
    if kind not in {LEAF_TABLE, LEAF_INDEX, INNER_TABLE, INNER_INDEX}:
        return None
    cells = int.from_bytes(page[header + 3 : header + 5], "big")
    end = int.from_bytes(page[header + 5 : header + 7], "big") or 65536
    begin = header + (8 if kind in {LEAF_TABLE, LEAF_INDEX} else 12) + 2 * cells
    return (begin, end) if begin <= end <= len(page) else None


class _Overwriter:
    def __init__(self, path: Path) -> None:
        import sqlite3

        self.busy_error = sqlite3.OperationalError
        self.path = path
        self.log = path.with_name(path.name + "-wal")
        self.connection = sqlite3.connect(path, isolation_level=None, timeout=0.1)
        self.connection.execute("PRAGMA secure_delete = ON")
        self.size = int(self.connection.execute("PRAGMA page_size").fetchone()[0])
        self.file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        self.zeros = bytes(65536)
        self.pages = 0
        self.longest = 0.0

    def close(self) -> None:
        # In this order: closing the file first would drop the connection's locks.
        self.connection.close()
        os.close(self.file)

    def run(self, seconds: float) -> bool:
        """Looks at all pages without keeping anybody out, then overwrites under the lock what has to be.

        A page that is clean in the file stays so: with an empty log at the beginning, all that is written later is made from what the
        file holds now, and SQLite moves no bytes from the unallocated space of one page to another.
        """
        until = time.monotonic() + seconds
        if os.fstat(self.file).st_size > MOST_PAGES * self.size or not self._with_empty_log(until):
            return False
        found = self._scan()
        while found:
            if time.monotonic() >= until:
                return False
            done = self._step(found)
            if done is None:
                time.sleep(REST_SECONDS)
                continue
            del found[:done]
            if found:
                time.sleep(REST_SECONDS)
        os.fsync(self.file)
        return True

    def _with_empty_log(self, until: float) -> bool:
        """What writers who ended before left in the log has to be in the file before it is looked at."""
        while True:
            try:
                if not self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    return True
            except self.busy_error:
                pass
            if time.monotonic() >= until:
                return False
            time.sleep(REST_SECONDS)

    def _scan(self) -> list[int]:
        """Numbers of the pages, from 0, that have something in their unallocated space."""
        found: list[int] = []
        following = 0
        while block := self._read(following, SCAN_PAGES):
            count = len(block) // self.size
            found += [following + number for number in range(count) if self._space(block, number, following)]
            following += max(count, 1)
        return found

    def _read(self, page: int, count: int) -> bytes:
        os.lseek(self.file, page * self.size, os.SEEK_SET)
        return os.read(self.file, count * self.size)

    def _space(self, block: bytes, number: int, following: int) -> tuple[int, int] | None:
        """The unallocated space of a page of the block that begins with page ``following``, if anything stands in it."""
        start = (following + number) * self.size
        at = number * self.size
        if start <= PENDING_BYTE < start + self.size:
            return None
        page = block[at : at + self.size]
        space = unallocated(page, first=start == 0)
        if space is None or page[space[0] : space[1]] == self.zeros[: space[1] - space[0]]:
            return None
        return space

    def _step(self, pages: Sequence[int]) -> int | None:
        """Some pages under the write lock, with nothing in the log: then nobody else can write to the file. How many were done."""
        try:
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self.connection.execute("BEGIN IMMEDIATE")
        except self.busy_error:
            return None
        begin = time.monotonic()
        if self.log.exists() and self.log.stat().st_size > 0:
            self.connection.execute("ROLLBACK")
            return None
        done = 0
        while time.monotonic() - begin < HOLD_SECONDS and done < len(pages):
            for page in pages[done : done + BLOCK_PAGES]:
                self._overwrite(page)
                done += 1
        # Something has to change, so that other connections let go of the pages that they have in memory.
        self.connection.execute(
            "INSERT INTO memory_installationstate (name, value, at) VALUES (?, ?, datetime('now')) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value, at = excluded.at",
            (STATE, json.dumps({"pages": self.pages, "nonce": os.urandom(4).hex()})),
        )
        self.connection.execute("COMMIT")
        self.longest = max(self.longest, time.monotonic() - begin)
        return done

    def _overwrite(self, number: int) -> None:
        space = self._space(self._read(number, 1), 0, number)
        if space is not None:
            os.lseek(self.file, number * self.size + space[0], os.SEEK_SET)
            os.write(self.file, self.zeros[: space[1] - space[0]])
            self.pages += 1


def _holds(path: Path, needles: Sequence[bytes]) -> bool:
    # One small buffer is read into again and again: it stays in the processor's cache, and nothing is copied twice.
    overlap = max(map(len, needles), default=1) - 1
    buffer = bytearray(overlap + CHUNK)
    view = memoryview(buffer)
    filled = 0
    try:
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(view[filled:]):
                filled += count
                if any(buffer.find(needle, 0, filled) >= 0 for needle in needles):
                    return True
                kept = min(overlap, filled)
                view[:kept] = view[filled - kept : filled]
                filled = kept
    except (FileNotFoundError, IsADirectoryError):
        return False
    return False


def _main() -> None:
    request = json.load(sys.stdin)
    if request["what"] == "search":
        needles = [bytes.fromhex(one) for one in request["needles"]]
        json.dump([path for path in request["paths"] if _holds(Path(path), needles)], sys.stdout)
        return
    from memory.index.connection import use_capable_sqlite

    use_capable_sqlite()
    overwriter = _Overwriter(Path(request["path"]))
    try:
        done = overwriter.run(request["seconds"])
    finally:
        overwriter.close()
    json.dump(asdict(Overwritten(done, overwriter.pages, overwriter.longest)), sys.stdout)


if __name__ == "__main__":
    _main()
