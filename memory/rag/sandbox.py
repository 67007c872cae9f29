"""Documents are parsed in a process of their own, which can be killed: limits on memory, CPU time, wall clock and output."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memory.rag.errors import RagError, refuse
from memory.rag.types import LoadedDocument, LoadLimits

_ROOT = Path(__file__).resolve().parents[2]
_KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "PYTHONPATH", "VIRTUAL_ENV")
_CHUNK = 1 << 16
ASK_SECONDS = 0.5
"""How often it is asked whether the document is still wanted."""
UNWANTED = "unwanted"


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    memory: int = 768 * 1024 * 1024
    """Bytes of address space. Not enforced on Windows and macOS."""
    cpu_seconds: int = 25
    seconds: float = 28.0
    """Wall clock, after which the process is killed."""
    output: int = 64 * 1024 * 1024
    """Bytes that it may answer with."""


_DEFAULT, _LIMITS = LoadLimits(), SandboxLimits()


class Unwanted(Exception):
    """Nobody wants the document any more: its process was killed."""


def load_safely(
    data: bytes,
    name: str,
    *,
    limits: LoadLimits = _DEFAULT,
    sandbox: SandboxLimits = _LIMITS,
    wanted: Callable[[], bool] = lambda: True,
) -> LoadedDocument:
    """Reads a file where it can do no harm. Raises ``RagError`` like ``load``, and for what the process was killed for.

    ``wanted`` is asked every half second, in this thread; once it says no, the process is killed and ``Unwanted`` raised.
    """
    if len(data) > limits.file_bytes:
        raise refuse(
            f"The file has {len(data):,} bytes; at most {limits.file_bytes:,} are read.", "file_size"
        )
    head = {"name": name, "memory": sandbox.memory, "seconds": sandbox.cpu_seconds, "limits": asdict(limits)}
    output, reason, status = _run(json.dumps(head).encode() + b"\n" + data, sandbox, wanted)
    if reason == UNWANTED:
        raise Unwanted
    if reason:
        raise refuse(_REASONS[reason], reason)
    try:
        answer: dict[str, Any] = json.loads(output)
    except ValueError:
        raise _died(status) from None
    if "error" in answer:
        raise RagError(answer["error"], answer["message"], **answer["details"])
    return LoadedDocument.from_json(answer["document"])


_REASONS = {
    "time": "The document takes too long to read.",
    "output": "The document has too much text.",
}


def _died(status: int) -> RagError:
    if os.name == "posix" and status in (-signal.SIGXCPU, -signal.SIGKILL):
        return refuse("The document takes too long to read.", "time")
    return refuse(
        "The document could not be read: its parser broke off. It may be damaged or need too much memory.",
        "crash",
    )


def _run(payload: bytes, sandbox: SandboxLimits, wanted: Callable[[], bool]) -> tuple[bytes, str, int]:
    """(what it wrote, why it was killed if it was, its exit status)."""
    process = subprocess.Popen(
        [sys.executable, "-s", "-m", "memory.rag.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=_ROOT,
        env={name: os.environ[name] for name in _KEPT if name in os.environ}
        | {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"},
        start_new_session=os.name == "posix",
    )
    killed: list[str] = []
    output = bytearray()

    def kill(reason: str) -> None:
        killed.append(reason)
        _kill(process)

    timer = threading.Timer(sandbox.seconds, kill, ("time",))
    writer = threading.Thread(target=_feed, args=(process, payload), daemon=True)
    reader = threading.Thread(target=_collect, args=(process, output, sandbox.output, kill), daemon=True)
    timer.start()
    writer.start()
    reader.start()
    try:
        while reader.is_alive():
            reader.join(ASK_SECONDS)
            if reader.is_alive() and not wanted():
                kill(UNWANTED)
                break
        status = process.wait()
    finally:
        timer.cancel()
        _kill(process)
        process.wait()
        writer.join()
        reader.join()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError, ValueError):
                if pipe is not None:
                    pipe.close()
    return bytes(output), killed[0] if killed else "", status


def _collect(
    process: subprocess.Popen[bytes], output: bytearray, most: int, kill: Callable[[str], None]
) -> None:
    assert process.stdout is not None
    with contextlib.suppress(OSError, ValueError):
        while part := process.stdout.read(_CHUNK):
            output += part
            if len(output) > most:
                kill("output")
                return


def _feed(process: subprocess.Popen[bytes], payload: bytes) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):  # it may have died, or need no more
        process.stdin.write(payload)
        process.stdin.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The process with all that it may have started."""
    if process.poll() is not None:
        return
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
