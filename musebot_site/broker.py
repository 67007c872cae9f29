"""The embedded broker: wake-ups as files in a folder, so that no server has to be installed.

kombu's own transport in a folder writes a message in place, where a reader can catch it half-written; that reader then dies of
the JSON it cannot read. It also keeps every message that nobody fetches. Here a message appears whole or not at all, what cannot
be read is dropped, a folder that was deleted comes back, and no more than ``MAX_WAITING`` wake-ups are kept: each says only that
there is work, and the sweep comes anyway.
"""

from __future__ import annotations

import logging
import os
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps, loads

logger = logging.getLogger(__name__)

ALIAS = "musebot-folder"
MAX_WAITING = 200
MAX_BYTES = 1 << 20
REACTION_SECONDS = 0.25


class Channel(filesystem.Channel):
    """One reader or writer of the folder."""

    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        folder = Path(self.data_folder_out)
        folder.mkdir(parents=True, exist_ok=True)
        if len(self._waiting(queue)) >= MAX_WAITING:
            return
        name = f"{time.time_ns():020d}_{uuid.uuid4().hex}.{queue}.msg"
        draft = folder / f"{name}.part"
        draft.write_bytes(dumps(payload).encode())
        os.replace(draft, folder / name)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        for path in self._waiting(queue):
            # Renaming decides which of several readers has it.
            taken = path.with_name(f"{path.name}.{os.getpid()}.taken")
            try:
                os.replace(path, taken)
                payload = taken.read_bytes() if taken.stat().st_size <= MAX_BYTES else b""
            except OSError:
                continue
            taken.unlink(missing_ok=True)
            try:
                return loads(payload.decode())
            except ValueError:
                logger.warning("dropped a wake-up that could not be read (%d bytes)", len(payload))
        raise Empty

    def _size(self, queue: str) -> int:
        return len(self._waiting(queue))

    def _purge(self, queue: str) -> int:
        paths = self._waiting(queue)
        for path in paths:
            path.unlink(missing_ok=True)
        return len(paths)

    def _queue_bind(self, exchange: str, routing_key: str | None, pattern: str | None, queue: str) -> None:
        Path(self.control_folder).mkdir(parents=True, exist_ok=True)
        self.get_table(exchange)  # removes a file that cannot be read
        super()._queue_bind(exchange, routing_key or "", pattern or "", queue)

    def get_table(self, exchange: str) -> list[Any]:
        """Which queues an exchange feeds; of one whose file is gone or broken, the queue of its own name."""
        try:
            table: list[Any] = super().get_table(exchange)
        except ValueError:
            (Path(self.control_folder) / f"{exchange}.exchange").unlink(missing_ok=True)
            table = []
        return table or [filesystem.exchange_queue_t(exchange, "", exchange)]

    def _waiting(self, queue: str) -> list[Path]:
        """Files of a queue, oldest first."""
        folder, ending = Path(self.data_folder_in), f".{queue}.msg"
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return []
        return [folder / name for name in sorted(names) if name.endswith(ending)]


class Transport(filesystem.Transport):
    """kombu's folder transport with the channel above."""

    Channel = Channel

    def drain_events(self, connection: Any, timeout: float | None = None, **kwargs: Any) -> None:
        # A worker looks between two calls of this whether it is to end; it would wait two seconds.
        if timeout is not None:
            timeout = min(timeout, REACTION_SECONDS)
        super().drain_events(connection, timeout=timeout, **kwargs)


def register() -> None:
    """Makes the transport known to kombu under ``ALIAS``."""
    TRANSPORT_ALIASES[ALIAS] = f"{__name__}:Transport"


def clean(folder: Path) -> None:
    """Removes what a process that was killed left half-done (called where a worker starts)."""
    for ending in ("*.part", "*.taken"):
        for path in folder.glob(ending):
            path.unlink(missing_ok=True)
