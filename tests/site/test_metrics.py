"""What Prometheus is given, and who else."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from memory import access, outbox
from memory.models import Reply

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
    assert {"musebot_memories 0", "musebot_members 0", "musebot_embeddings_pending 0"} <= set(lines)
    assert 'musebot_outbox{kind="embed",state="queued"} 2' in lines
    assert 'musebot_replies{kind="error"} 1' in lines and 'musebot_replies{kind="model"} 2' in lines
    sample = re.compile(r'musebot_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? \d+')
    assert all(line.startswith("# ") or sample.fullmatch(line) for line in lines)


@pytest.mark.parametrize(
    "request_",
    [
        {**LOCAL, "REMOTE_ADDR": "203.0.113.5"},
        {**LOCAL, "HTTP_X_REAL_IP": "203.0.113.5"},
        {**LOCAL, "HTTP_X_FORWARDED_FOR": "127.0.0.1"},
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
