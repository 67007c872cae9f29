"""Parts of a ZIP archive, read in memory under limits that count real bytes, never what the archive says of itself."""

from __future__ import annotations

import io
import zipfile
import zlib

from memory.rag.errors import refuse
from memory.rag.types import LoadLimits

_BROKEN = (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError, RuntimeError, zlib.error)


class Archive:
    """Nothing is ever written to disk, so names of entries cannot lead anywhere."""

    def __init__(self, data: bytes, limits: LoadLimits, what: str) -> None:
        self._limits = limits
        self._what = what
        self._left = limits.archive_bytes
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            entries = self._zip.infolist()
        except _BROKEN:
            raise self.damaged() from None
        if len(entries) > limits.archive_entries:
            raise refuse(
                f"The {what} has {len(entries)} parts inside; at most {limits.archive_entries} are read.",
                "archive_entries",
            )
        self._entries = {entry.filename: entry for entry in entries}

    def damaged(self) -> Exception:
        return refuse(f"The {self._what} is damaged or cut off.", "damaged")

    def read(self, name: str) -> bytes | None:
        """A part's bytes, ``None`` where there is none. Raises ``LOAD_FAILED`` past the limits."""
        entry = self._entries.get(name)
        if entry is None:
            return None
        if entry.flag_bits & 1:
            raise refuse(f"The {self._what} is password-protected. Save it without a password.", "password")
        allowed = max(1 << 20, min(self._left, entry.compress_size * self._limits.archive_ratio))
        try:
            with self._zip.open(entry) as part:
                data = part.read(allowed + 1)
        except _BROKEN:
            raise self.damaged() from None
        if len(data) > allowed:
            raise refuse(f"A part of the {self._what} is far too large when unpacked.", "archive_size")
        self._left -= len(data)
        return data
