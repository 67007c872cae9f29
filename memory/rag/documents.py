"""What is done to documents: scope, switch on and off, roll back, cancel, retry, delete; uploads are taken in by ``uploads``."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from django.db import transaction
from django.utils import timezone

from memory import outbox
from memory.errors import Conflict, NotFound
from memory.models import Document, DocumentVersion, OutboxEntry
from memory.rag import evaluation, files, store
from memory.rag.uploads import (
    BUSY,
    INGEST,
    Same,
    check,
    find_same,
    replace,
    require_mode,
    servers,
    stop,
    upload,
)

__all__ = ["BUSY", "INGEST", "Same", "check", "find_same", "replace", "require_mode", "upload"]

KEEP_VERSIONS = 3
"""Versions whose passages are kept, so that one can go back to them at once."""


def get(document_id: int) -> Document:
    """Raises ``NotFound``."""
    document = Document.objects.select_related("active").filter(pk=document_id).first()
    if document is None:
        raise NotFound("There is no such document.")
    return document


def set_scope(document_id: int, *, guild_ids: Collection[int] | None) -> None:
    """Where it answers from now on; None for everywhere."""
    document, guilds = get(document_id), servers(guild_ids)
    with transaction.atomic():
        Document.objects.filter(pk=document.pk).update(everywhere=guilds is None, updated_at=timezone.now())
        document.guilds.set(guilds or ())


def set_enabled(document_id: int, *, enabled: bool) -> None:
    """A document that is switched off keeps everything and answers nothing."""
    document = get(document_id)
    with transaction.atomic():
        Document.objects.filter(pk=document.pk).update(enabled=enabled, updated_at=timezone.now())
        evaluation.note_change(f"{document.name} switched {'on' if enabled else 'off'}")


def roll_back(document_id: int, *, number: int) -> DocumentVersion:
    """Makes another version the one that answers. Its passages are still there, so it does at once."""
    document = get(document_id)
    version = document.versions.filter(number=number).first()
    if version is None:
        raise NotFound("There is no such version.")
    if version.state != DocumentVersion.State.READY or not version.chunks_total:
        raise Conflict("Only a version that was ready and still has its passages can answer again.")
    with transaction.atomic():
        Document.objects.filter(pk=document.pk).update(active=version, updated_at=timezone.now())
        evaluation.note_change(f"{document.name} back to version {number}")
    return version


def cancel(document_id: int) -> bool:
    """Stops the work on its newest version; what answered before goes on. False if there is none."""
    document = get(document_id)
    with transaction.atomic():
        busy = list(document.versions.filter(state__in=BUSY))
        for version in busy:
            stop(version)
    return bool(busy)


def retry(document_id: int) -> DocumentVersion:
    """Does a version again that failed, was cancelled or waits for the embedder."""
    document = get(document_id)
    version = document.versions.order_by("-number").first()
    if version is None or version.state == DocumentVersion.State.READY:
        raise Conflict("There is nothing to try again: the newest version is ready.")
    with transaction.atomic():
        waits = version.state == DocumentVersion.State.EMBED
        state = version.state if waits else DocumentVersion.State.QUEUED
        DocumentVersion.objects.filter(pk=version.pk).update(
            state=state, error="", error_code="", reason="", stage_at=timezone.now()
        )
        outbox.enqueue(INGEST, [version.pk])
    return version


def delete(document_id: int) -> int:
    """Removes a document with its versions, passages, words, vectors and files; returns how many passages."""
    document = get(document_id)
    with transaction.atomic():
        versions = list(document.versions.values_list("pk", "stored_name"))
        gone = store.drop([pk for pk, _ in versions])
        OutboxEntry.objects.filter(kind=INGEST, subject__in=[pk for pk, _ in versions]).delete()
        document.delete()
        evaluation.note_change(f"{document.name} deleted")
        # A file whose row is gone for sure; if the process ends in between, the orphan scan finds it.
        transaction.on_commit(partial(files.remove_all, [stored for _, stored in versions]))
    return gone


def prune(document_id: int) -> None:
    """Drops passages and files of versions beyond those that are kept; part of the caller's transaction."""
    document = Document.objects.get(pk=document_id)
    finished = document.versions.exclude(state__in=BUSY).order_by("-number")
    kept = [row for row in finished if row.state == DocumentVersion.State.READY][:KEEP_VERSIONS]
    keep = {row.pk for row in kept} | {document.active_id}
    old = [row for row in finished if row.pk not in keep]
    store.drop([row.pk for row in old])
    names = [row.stored_name for row in old]
    DocumentVersion.objects.filter(pk__in=[row.pk for row in old]).delete()
    transaction.on_commit(partial(files.remove_all, names))
