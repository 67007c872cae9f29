"""Jobs: what is shown of each kind of work, and what its buttons do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from memory import backends, capture, consent, embedding, erasure, outbox
from memory.capture import backfill
from memory.llm.base import EmbedderIdentity
from memory.llm.hashing import HashEmbedder
from memory.models import EmbeddingSpace, InstallationState, OutboxEntry, Scan, ScanChannel
from memory.types import GuildInfo
from tests.factories import GuildFactory, incoming, person
from tests.memory.memory_support import opted_in, say, work

pytestmark = pytest.mark.django_db


class Newer(HashEmbedder):
    def identity(self):
        return EmbedderIdentity("hash", "", "2", self.dimension)


@pytest.fixture
def jobs(staff):
    def read(part=False):
        headers = {"HX-Request": "true", "HX-Target": "jobs"} if part else {}
        return " ".join(staff.get("/jobs/", headers=headers).content.decode().split())

    return read


@pytest.fixture
def press(staff):
    def press(job, action, status=302):
        response = staff.post("/jobs/act/", {"job": job, "action": action, "next": "/jobs/"})
        assert response.status_code == status, response.content
        return response

    return press


@pytest.fixture
def scan():
    ada = opted_in("ada")
    [scan] = backfill.request(user_id=ada.id, guilds=[GuildInfo(GuildFactory(name="Harbour").discord_id)])
    Scan.objects.filter(pk=scan.pk).update(state="running", scanned=1200, stored=340, active_seconds=60)
    for name, state in (("general", "done"), ("pilots", "waiting"), ("staff", "unreadable")):
        ScanChannel.objects.create(
            scan=scan,
            guild=scan.guild,
            channel_id=hash(name) % 10**9,
            name=name,
            state=state,
            due_at=timezone.now(),
        )
    return scan


def test_nothing_to_do(jobs):
    body = jobs()
    assert "Nothing to do" in body and "hx-trigger" not in body


def test_the_queue_by_kind(jobs, press):
    for n in range(3):
        say(opted_in(f"m{n}"), "hello")
    body = jobs()
    assert "Embedding" in body and "3 waiting" in body and "every 2s" in body
    assert "<html" not in jobs(part=True)
    press("kind-embed", "pause")
    assert "paused" in jobs() and "every 2s" not in jobs()
    work()
    assert OutboxEntry.objects.filter(kind="embed", state="queued").count() == 3
    assert outbox.due_kinds() == []
    press("kind-embed", "resume")
    work()
    assert not OutboxEntry.objects.exists() and "Nothing to do" in jobs()


def test_a_kind_that_is_paused_shows_although_nothing_waits(jobs, press):
    press("kind-enrich", "pause")
    assert "Images and links" in jobs() and 'aria-label="Go on with Images and links"' in jobs()


@pytest.mark.parametrize("kind", ["erase", "forget_guild", "retention", "clean_files"])
def test_what_removes_data_is_not_held_back(jobs, press, kind):
    outbox.enqueue(kind, [1])
    assert 'value="pause"' not in jobs()
    press(f"kind-{kind}", "pause", status=409)
    assert outbox.claim(kind, 1)


def test_failed_work_and_trying_it_again(jobs, press):
    key = say(opted_in("ada"), "hello")
    OutboxEntry.objects.update(
        state="failed", attempts=5, error="The model refused it.", error_code="model_rejected"
    )
    body = jobs()
    assert "The model refused it." in body and "Failed" in body and f"/memories/{key}/" in body
    press(f"entry-{OutboxEntry.objects.get().id}", "retry")
    entry = OutboxEntry.objects.get()
    assert (entry.state, entry.attempts) == ("queued", 0)
    OutboxEntry.objects.update(state="failed")
    press("kind-embed", "retry")
    assert OutboxEntry.objects.get().state == "queued"


def test_a_scan_with_its_progress_and_channels(jobs, staff, scan):
    body = jobs()
    assert "Harbour, for 1 member" in body and "1 of 2 channels" in body
    assert "20 messages a second" in body and "1,200 messages seen, 340 stored" in body
    assert "1 channel may not be read" in body
    detail = staff.get(f"/jobs/scans/{scan.pk}/").content.decode()
    assert "#staff" in detail and "may not be read" in detail and "#pilots" in detail
    assert detail.index("#staff") < detail.index("#pilots")
    part = staff.get(f"/jobs/scans/{scan.pk}/", headers={"HX-Request": "true", "HX-Target": "scan"})
    assert b"<html" not in part.content
    assert staff.get("/jobs/scans/999/").status_code == 404


def test_a_scan_is_paused_goes_on_and_is_cancelled(jobs, press, scan):
    press(f"scan-{scan.pk}", "pause")
    assert Scan.objects.get().state == "paused" and "paused" in jobs()
    press(f"scan-{scan.pk}", "resume")
    assert Scan.objects.get().state == "running"
    press(f"scan-{scan.pk}", "cancel")
    assert Scan.objects.get().state == "cancelled"
    assert "Histories that were read" in jobs()
    press(f"scan-{scan.pk}", "pause", status=409)
    press("scan-99", "pause", status=404)


@pytest.fixture
def changing():
    ada = opted_in("ada")
    for n in range(3):
        say(ada, f"message {n}")
    work()
    with backends.override(embedder=Newer(64), older_embedder=HashEmbedder()):
        embedding.notice_change()
        yield


def test_another_embedding_model(jobs, press, staff, changing):
    body = jobs()
    assert "Another embedding model" in body and "hash → hash (64)" in body
    assert "hash (256) serves meanwhile" in body
    press("vectors", "pause")
    assert "paused" in jobs()
    overview = staff.get("/?check=1").content.decode()
    assert "The embedding model was changed" in overview and "/jobs/" in overview
    press("vectors", "resume")
    work("respace")
    assert "Another embedding model" not in jobs()
    assert EmbeddingSpace.objects.get(state="active").dimension == 64


def test_its_cancelling_and_beginning_again(jobs, press, changing):
    press("vectors", "cancel")
    work("respace")
    body = jobs()
    assert "cancelled" in body and "Build them" in body
    assert EmbeddingSpace.objects.get().dimension == 256
    press("vectors", "retry")
    work("respace")
    assert EmbeddingSpace.objects.get(state="active").dimension == 64
    press("vectors", "pause", status=404)


@pytest.mark.django_db(transaction=True)
def test_an_erasure_that_failed_is_tried_again(jobs, press):
    ada = opted_in("ada")
    capture.record_message(incoming("hello", author=ada))
    request = erasure.request(user_id=ada.id, origin="admin")
    assert "Erasing a member" in jobs()
    type(request).objects.update(state="failed", error="The disk is full.")
    assert "The disk is full." in jobs()
    press(f"erasure-{request.id}", "retry")
    request.refresh_from_db()
    assert request.state == "done" and "Erasing a member" not in jobs()


def test_what_is_no_job_or_no_action(press):
    for job, action in (
        ("scan-1", "retry"),
        ("", "pause"),
        ("kind-nothing", "pause"),
        ("erasure-x", "retry"),
        ("scan-x", "pause"),
    ):
        press(job, action, status=422)


def test_a_worker_that_does_not_run_is_said_so(jobs):
    say(opted_in("ada"), "hello")
    assert "The worker is not running" in jobs()
    InstallationState.objects.create(name="worker")
    assert "The worker is not running" not in jobs()
    InstallationState.objects.update(at=timezone.now() - timedelta(minutes=5))
    assert "The worker is not running" in jobs()


def test_texts_do_not_stand_on_the_page(jobs):
    ada = person("ada", display_name="Quixotarium")
    consent.give(person=ada, origin="discord")
    capture.record_message(incoming("quixotarium", author=ada))
    assert "uixotarium" not in jobs()
