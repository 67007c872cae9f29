"""The process that reads documents: what kills it, and what it may not do."""

import json
import os
import signal
import subprocess
import sys

import pytest

from memory.rag import sandbox
from memory.rag.errors import RagError
from memory.rag.sandbox import SandboxLimits, Unwanted, load_safely
from memory.rag.types import LoadLimits


def confined(code: str) -> str:
    program = (
        "import socket, subprocess, sys\n"
        "from memory.rag.worker import restrict\n"
        f"restrict(memory=512 << 20, seconds=20)\ntry:\n    {code}\nexcept BaseException as error:\n    print(type(error).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=sandbox._ROOT, capture_output=True, text=True, timeout=60
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "code",
    [
        "socket.socket()",
        "socket.getaddrinfo('localhost', 80)",
        "subprocess.run(['true'])",
        "open('/tmp/written', 'w')",
    ],
)
def test_it_reaches_nothing(code):
    assert confined(code) == "PermissionError"


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space hold on Linux")
def test_it_gets_no_more_memory_than_allowed():
    assert confined("bytearray(700 << 20)") == "MemoryError"


def test_django_is_not_imported():
    code = "import sys, memory.rag.worker, memory.rag.loaders.markdown; print('django' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=sandbox._ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "False"


def reason(error: pytest.ExceptionInfo[RagError]) -> str:
    assert error.value.code == "LOAD_FAILED"
    return error.value.reason


def test_it_is_killed_when_the_time_is_up():
    with pytest.raises(RagError) as error:
        load_safely(b"text", "a.txt", sandbox=SandboxLimits(seconds=0.001))
    assert reason(error) == "time"


def test_it_is_killed_when_it_says_too_much():
    with pytest.raises(RagError) as error:
        load_safely(b"word " * 100_000, "a.txt", sandbox=SandboxLimits(output=10_000))
    assert reason(error) == "output"


SLOW = b"a,b,c,d\n" + b"1,2,3,4\n" * 900_000
"""A table that takes more than the time that is given to read."""


def started(monkeypatch) -> list[subprocess.Popen]:
    """Processes that are started from now on."""
    found, popen = [], subprocess.Popen

    def start(*args, **options):
        found.append(popen(*args, **options))
        return found[-1]

    monkeypatch.setattr(sandbox.subprocess, "Popen", start)
    return found


def test_it_is_killed_once_nobody_wants_the_document(monkeypatch):
    processes, answers = started(monkeypatch), iter([True, True, False])
    with pytest.raises(Unwanted):
        load_safely(SLOW, "slow.csv", wanted=lambda: next(answers))
    assert [one.returncode for one in processes] == [-signal.SIGKILL if os.name == "posix" else 1]


def test_a_question_that_fails_leaves_no_process_behind(monkeypatch):
    processes = started(monkeypatch)
    with pytest.raises(ZeroDivisionError):
        load_safely(SLOW, "slow.csv", wanted=lambda: bool(1 / 0))
    assert [one.poll() is not None for one in processes] == [True]


def test_a_file_over_the_limit_is_not_even_started(monkeypatch):
    monkeypatch.setattr(sandbox, "_run", None)
    with pytest.raises(RagError) as error:
        load_safely(b"12345", "a.txt", limits=LoadLimits(file_bytes=4))
    assert reason(error) == "file_size"


def test_a_parser_that_dies_is_a_document_that_cannot_be_read(monkeypatch):
    monkeypatch.setattr(sandbox, "_run", lambda payload, limits, wanted: (b"", "", -11))
    with pytest.raises(RagError) as error:
        load_safely(b"text", "a.txt")
    assert reason(error) == "crash"


def test_a_good_document_comes_back_whole():
    document = load_safely(b"# Caf\xc3\xa9\n\nOpens at 9.", "cafe.md")
    assert document.kind == "markdown" and document.sections[0].heading_path == ("Café",)
    assert json.dumps(document.to_json())
