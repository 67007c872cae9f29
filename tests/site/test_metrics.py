"""What Prometheus is given, and who else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from memory import access, measures, outbox
from memory.models import OutboxEntry, Reply

pytestmark = pytest.mark.django_db

LOCAL = {"HTTP_HOST": "127.0.0.1:8000"}


def test_counts_in_the_text_format():
    outbox.enqueue("embed", [1, 2])
    Reply.objects.create(kind="model")
    Reply.objects.create(kind="model")
    Reply.objects.create(kind="error")
    response = Client().get("/metrics", **LOCAL)
    assert response.status_code == 200 and response["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = response.content.decode().splitlines()
    assert response.content.endswith(b"\n")
    assert {"musebot_memories 0.0", "musebot_members 0.0", "musebot_embeddings_pending 0.0"} <= set(lines)
    assert 'musebot_outbox{kind="embed",state="queued"} 2.0' in lines
    assert 'musebot_replies{kind="error"} 1.0' in lines and 'musebot_replies{kind="model"} 2.0' in lines
    sample = re.compile(r'musebot_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e-]+')
    assert all(line.startswith("# ") or sample.fullmatch(line) for line in lines)


@pytest.mark.parametrize(
    "request_",
    [
        {**LOCAL, "REMOTE_ADDR": "203.0.113.5"},
        {**LOCAL, "HTTP_X_REAL_IP": "203.0.113.5"},
        {**LOCAL, "HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {**LOCAL, "HTTP_X_FORWARDED_PROTO": "http"},
        {**LOCAL, "HTTP_VIA": "1.1 proxy"},
        {**LOCAL, "HTTP_FORWARDED": "for=127.0.0.1"},
        {**LOCAL, "HTTP_CF_CONNECTING_IP": "127.0.0.1"},
        {**LOCAL, "SERVER_PROTOCOL": "HTTP/1.0"},
        {"HTTP_HOST": "bot.example.org"},
    ],
)
def test_others_need_a_key_that_may_read(request_, settings):
    settings.ALLOWED_HOSTS = ["*"]
    refused = Client().get("/metrics", **request_)
    assert refused.status_code == 401 and set(refused.json()) == {"error", "message", "details"}
    for scope, status in (("ask", 403), ("read", 200)):
        key = access.make_key(name=scope, scopes=[scope])[1]
        given = Client().get("/metrics", headers={"Authorization": f"Bearer {key}"}, **request_)
        assert given.status_code == status


def test_behind_a_proxy_nobody_is_local(settings):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert Client().get("/metrics", **LOCAL).status_code == 401


@pytest.mark.parametrize("url, status", [("https://bot.example.org", 401), ("http://localhost:8000", 200)])
def test_where_people_reach_it_by_another_name_nobody_is_local(settings, url, status):
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"public_url": url})
    assert Client().get("/metrics", **LOCAL).status_code == status


def lines_of_metrics() -> list[str]:
    return Client().get("/metrics", **LOCAL).content.decode().splitlines()


def value_of(name: str) -> float:
    return sum(float(line.split()[-1]) for line in lines_of_metrics() if line.split(" ")[0] == name)


def test_the_age_of_what_waits():
    outbox.enqueue("embed", [1])
    OutboxEntry.objects.update(
        created_at=timezone.now() - timedelta(seconds=90), due_at=timezone.now() - timedelta(days=365)
    )
    outbox.enqueue("enrich", [2])
    OutboxEntry.objects.filter(kind="enrich").update(due_at=timezone.now() + timedelta(hours=1))
    assert 89 < value_of('musebot_queue_age_seconds{kind="embed"}') < 200
    assert not any("enrich" in line for line in lines_of_metrics() if "queue_age" in line)


def test_a_turn_is_counted_by_stage_and_by_kind():
    before = value_of('musebot_turn_seconds_count{stage="recall"}')
    turn = {"kind": "error", "timings": {"recall": 40.0, "recall_words": 3.0, "total": 900.0}}
    measures.turn(**turn, error="model_unavailable", missing="no_vectors,timeout")
    assert value_of('musebot_turn_seconds_count{stage="recall"}') == before + 1
    text = "\n".join(lines_of_metrics())
    assert 'musebot_model_errors_total{error="model_unavailable"}' in text and "recall_words" not in text
    assert 'musebot_recall_degraded_total{reason="timeout"}' in text


def test_work_of_other_processes_is_added_up():
    code = "from memory import measures; measures.captured.labels('live').inc(7)"
    name = 'musebot_captured_messages_total{source="live"}'
    before = value_of(name)
    subprocess.run(
        [sys.executable, "-c", f"import django; django.setup(); {code}"],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "musebot_site.settings"},
        check=True,
        cwd=settings.BASE_DIR,
    )
    assert value_of(name) == before + 7
