"""A worker that is killed without warning (SIGKILL) loses nothing and doubles nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from memory import embedding, erasure
from memory.backends import vector_index
from memory.models import Message, OutboxEntry
from tests.memory.memory_support import expire_leases, files_with, opted_in, say, work

pytestmark = pytest.mark.django_db(transaction=True)

PREPARE = """
import sys, time
import django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
from memory import backends, tasks
from memory.llm.hashing import HashEmbedder

def stuck():
    print("in the middle", flush=True)
    time.sleep(600)
"""
EMBEDS = """
class Embedder(HashEmbedder):
    def embed_documents(self, texts):
        stuck()

with backends.override(embedder=Embedder()):
    tasks.work_through("embed")
"""
WRITES = """
from memory.embedding import work
real = work.outbox.finish

def finish(entries):
    real(entries)
    if entries:
        stuck()  # vectors are written and the work is removed, but nothing is committed

work.outbox.finish = finish
with backends.override(embedder=HashEmbedder()):
    tasks.work_through("embed")
"""
ERASES = """
from memory.erasure import running, steps
real = steps.messages

def messages(user_id, size):
    counts = real(user_id, size)
    if not counts:
        stuck()
    return counts

running.STEPS = [messages if step is real else step for step in steps.STEPS]
tasks.work_through("erase")
"""


def kill_in_the_middle_of(script: str) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", PREPARE + script, str(connection.settings_dict["NAME"])],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "in the middle\n"
    worker.kill()
    worker.wait()
    worker.stdout.close()


@pytest.mark.parametrize("script", [EMBEDS, WRITES])
def test_killed_while_embedding(script):
    keys = [say(opted_in("ada"), "hello"), say(opted_in("bob"), "world")]
    kill_in_the_middle_of(script)
    assert list(OutboxEntry.objects.values_list("state", flat=True)) == ["running", "running"]
    assert Message.objects.filter(embedding="pending").count() == 2
    expire_leases()
    work()
    space = embedding.active_space()
    assert sorted(vector_index(space).keys()) == sorted(keys)
    assert Message.objects.filter(embedding="done", space=space).count() == 2
    assert not OutboxEntry.objects.exists()


def test_killed_while_erasing():
    ada = opted_in("ada")
    for n in range(20):
        say(ada, f"quixotarium {n}")
    request = erasure.request(user_id=ada.id, origin="member")
    kill_in_the_middle_of(ERASES)
    request.refresh_from_db()
    assert (request.state, request.done) == ("running", 20)
    expire_leases()
    work("erase")
    request.refresh_from_db()
    assert (request.state, request.stage, request.done) == ("done", "", 20)
    assert erasure.verify(ada.id) == {} and files_with(b"quixotarium") == []
