"""Starts a simulator as a process of its own and stops it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def start_module(module: str, *args: str, python: str = sys.executable) -> tuple[subprocess.Popen, dict]:
    """Runs `python -m module --port 0 ...`; returns the process and the line of JSON that it printed.

    Works from any directory: the project is put on PYTHONPATH, and -P keeps the current one off sys.path."""
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH")]))
    proc = subprocess.Popen(
        [python, "-P", "-m", module, "--port", "0", "--exit-with-parent", *args],
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    )
    line = proc.stdout.readline()
    if not line:
        proc.stdout.close()
        raise RuntimeError(f"{module} did not start (exit {proc.wait()})")
    return proc, json.loads(line)


def stop_process(proc: subprocess.Popen | None) -> None:
    if proc and proc.poll() is None:
        proc.terminate()
        try:
            proc.wait(5)
        except subprocess.TimeoutExpired:
            proc.kill()
            proc.wait()
    if proc and proc.stdout:
        proc.stdout.close()
