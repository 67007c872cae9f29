"""Reads one document in a process that may be killed: bytes come in, JSON goes out. Run by ``memory.rag.sandbox``.

The first line of standard input is JSON (name, limits); the file's bytes follow. Django is not imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any, BinaryIO

from memory.rag.errors import RagError
from memory.rag.types import LoadLimits

_FORBIDDEN = (
    "socket.",
    "subprocess.",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.system",
    "os.startfile",
    "ftplib.",
    "urllib.",
    "http.",
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


def main() -> int:
    source, target = sys.stdin.buffer, sys.stdout.buffer
    header = json.loads(source.readline())
    restrict(memory=int(header["memory"]), seconds=int(header["seconds"]))
    result = run(source.read(), str(header["name"]), LoadLimits(**header["limits"]))
    _write(target, result)
    return 0


def run(data: bytes, name: str, limits: LoadLimits) -> dict[str, Any]:
    """The document, or the error, as what goes over the pipe."""
    from memory.rag.loaders import load

    try:
        return {"document": load(data, name, limits).to_json()}
    except RagError as error:
        return {"error": error.code, "message": error.message, "details": error.details}
    except MemoryError:
        return _failed("The document needs too much memory to be read.", "memory")
    except RecursionError:
        return _failed("The document is nested too deeply.", "depth")
    except Exception as error:  # whatever a parser raises on a hostile file is a document that cannot be read
        return _failed(
            "The document is damaged or of a form that is not read.", "parser", exception=type(error).__name__
        )


def restrict(*, memory: int, seconds: int) -> None:
    """Limits that the process cannot lift again; where the system has none of them, the time-out outside remains."""
    with contextlib.suppress(ImportError):
        import resource

        for what, limit in (
            (resource.RLIMIT_AS, memory),
            (resource.RLIMIT_CPU, seconds),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, 0),
        ):
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(what, (limit, limit))
    _without_network()
    sys.addaudithook(_audit)


def _without_network() -> None:
    """A network namespace of its own, with nothing in it, where the kernel lets us have one."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError, ImportError):
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        new_user, new_net = 0x10000000, 0x40000000
        if libc.unshare(new_net) != 0:
            libc.unshare(new_user | new_net)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if event.startswith(_FORBIDDEN):
        raise PermissionError(f"not allowed while a document is read: {event}")
    if event == "open" and isinstance(args[2], int) and args[2] & _WRITES and args[0] != os.devnull:
        raise PermissionError("not allowed while a document is read: writing")


def _failed(message: str, reason: str, **details: Any) -> dict[str, Any]:
    return {"error": "LOAD_FAILED", "message": message, "details": {"reason": reason, **details}}


def _write(target: BinaryIO, result: dict[str, Any]) -> None:
    target.write(json.dumps(result, ensure_ascii=True).encode("ascii"))
    target.flush()


if __name__ == "__main__":
    sys.exit(main())
