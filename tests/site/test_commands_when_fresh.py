"""The first command on a new installation makes what is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.memory.test_import_files import GUILD, line, lines_file

ROOT = Path(__file__).resolve().parents[2]


def test_an_import_before_anything_else(tmp_path):
    home = tmp_path / "home"
    chat = lines_file(tmp_path / "chat.jsonl", line(text="My sister plays the cello"))
    environment = {
        **os.environ,
        "MUSEBOT_HOME": str(home),
        "MUSEBOT_CONFIG": "",
        "MUSEBOT_EMBEDDING_MODEL": "hash",
    }
    environment["DJANGO_SETTINGS_MODULE"] = "musebot_site.settings"

    def run(*arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "1 stored" in run("import_chat", str(chat), "--guild", str(GUILD), "--consent-all")
    found = json.loads(run("recall", "who plays the cello?", "--guild", str(GUILD), "--json"))
    assert [row["text"] for row in found["results"]] == ["My sister plays the cello"]


def test_a_configuration_that_cannot_work_is_said_in_a_line(tmp_path):
    environment = {
        **os.environ,
        "MUSEBOT_HOME": str(tmp_path),
        "MUSEBOT_CONFIG": "",
        "MUSEBOT_CHAT_MODEL": "gpt",
    }
    environment["DJANGO_SETTINGS_MODULE"] = "musebot_site.settings"
    command = [sys.executable, "manage.py", "check"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert "MUSEBOT_CHAT_MODEL is 'gpt'; write ollama:NAME" in done.stderr
