"""Uploads: a file becomes a version of a document, of a new one or of the one that has its name and scope."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Literal

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from memory import outbox
from memory.conf import get_config
from memory.errors import InvalidInput, NotFound
from memory.models import Document, DocumentVersion, Guild, OutboxEntry
from memory.models.locks import DOCUMENTS, hold
from memory.rag import files, store
from memory.rag.errors import too_large
from memory.rag.loaders.sniff import glance

INGEST = "ingest"
"""Kind of work; the subject is a version's id."""
GLANCE = 8192
"""Bytes of a file that are looked at before it is taken in."""
BUSY = ("queued", "parse", "chunk", "embed")

Same = Literal["replace", "keep"]


def upload(
    *,
    name: str,
    data: bytes,
    guild_ids: Collection[int] | None = None,
    same: Same = "replace",
    origin: str = Document.Origin.UPLOAD,
    reference: str | None = None,
    source: str = "",
) -> DocumentVersion:
    """Keeps a file and queues what has to be done to it; returns its version.

    ``guild_ids``: where it answers; None for everywhere. A document of the same name and scope gets a new version, which replaces
    the older one once it is ready; ``keep`` makes a document of its own with a number in its name. The very same file is not read
    again. Raises ``RagError`` for a bad name or size and for a kind of file that is not read, ``NotFound`` for a server that is
    not known.
    """
    shown = check(name, len(data))
    glance(data[:GLANCE], shown)
    digest = hashlib.sha256(data).hexdigest()
    guilds = servers(guild_ids)
    known = _find(shown, guilds, reference) if same == "replace" else None
    if known is not None and (unchanged := _unchanged(known, digest)):
        return unchanged
    stored_name = files.keep(data)
    try:
        with transaction.atomic():
            hold(DOCUMENTS)
            document = _find(shown, guilds, reference)
            if document is not None and same == "keep":
                shown, document = _free_name(shown), None
            if document is not None and (unchanged := _unchanged(document, digest)):
                files.remove(stored_name)
                return unchanged
            if document is None:
                document = Document.objects.create(
                    name=shown, everywhere=guilds is None, origin=origin, reference=reference
                )
                document.guilds.set(guilds or ())
            version = _add_version(document, stored_name, data, digest, source or shown)
    except BaseException:
        files.remove(stored_name)
        raise
    return version


def check(name: str, size: int) -> str:
    """The name as it is shown; raises ``RagError`` for one that cannot be used, or a file that is too large to be read."""
    most = get_config().rag.max_file_bytes
    if size > most:
        raise too_large(size, most)
    return files.safe_name(name)


def servers(guild_ids: Collection[int] | None) -> list[Guild] | None:
    if guild_ids is None:
        return None
    found = list(Guild.objects.filter(discord_id__in=set(guild_ids)))
    if not found or len(found) != len(set(guild_ids)):
        raise NotFound("There is no such server, or none was named.", field="guild_id")
    return found


def find_same(name: str, guild_ids: Collection[int] | None = None) -> Document | None:
    """The document that an upload of this name would replace."""
    return _find(files.safe_name(name), servers(guild_ids), None)


def _find(name: str, guilds: Sequence[Guild] | None, reference: str | None) -> Document | None:
    if reference is not None:
        return Document.objects.filter(reference=reference).first()
    # The same name on another server is another document: nobody replaces what others rely on.
    wanted = None if guilds is None else {guild.pk for guild in guilds}
    for document in Document.objects.filter(name=name, reference=None).prefetch_related("guilds"):
        scope = None if document.everywhere else {guild.pk for guild in document.guilds.all()}
        if scope == wanted:
            return document
    return None


def _unchanged(document: Document, digest: str) -> DocumentVersion | None:
    newest = document.versions.order_by("-number").first()
    good = newest is not None and (newest.busy or newest.pk == document.active_id)
    return newest if newest is not None and good and newest.digest == digest else None


def _free_name(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, ""
    number = 2
    while Document.objects.filter(name=f"{stem} ({number}){dot}{ending}").exists():
        number += 1
    return f"{stem} ({number}){dot}{ending}"


def _add_version(
    document: Document, stored_name: str, data: bytes, digest: str, source: str
) -> DocumentVersion:
    last = document.versions.aggregate(last=Max("number"))["last"] or 0
    for older in document.versions.filter(state__in=BUSY):
        stop(older)
    version = DocumentVersion.objects.create(
        document=document,
        number=last + 1,
        name=document.name,
        source=source[:300],
        stored_name=stored_name,
        size=len(data),
        digest=digest,
    )
    Document.objects.filter(pk=document.pk).update(updated_at=timezone.now())
    outbox.enqueue(INGEST, [version.pk])
    return version


def replace(document_id: int, *, name: str, data: bytes) -> DocumentVersion:
    """A new version of one document, which keeps its name and scope; the older one answers until it is ready."""
    document = Document.objects.filter(pk=document_id).first()
    if document is None:
        raise NotFound("There is no such document.")
    for one in (check(name, len(data)), document.name):
        glance(data[:GLANCE], one)
    digest = hashlib.sha256(data).hexdigest()
    stored_name = files.keep(data)
    try:
        with transaction.atomic():
            hold(DOCUMENTS)
            if unchanged := _unchanged(document, digest):
                files.remove(stored_name)
                return unchanged
            return _add_version(document, stored_name, data, digest, document.name)
    except BaseException:
        files.remove(stored_name)
        raise


def stop(version: DocumentVersion) -> None:
    store.drop([version.pk])
    Document.objects.filter(active=version).update(active=None)
    DocumentVersion.objects.filter(pk=version.pk).update(
        state=DocumentVersion.State.CANCELLED, stage_at=timezone.now(), chunks_total=0, chunks_done=0
    )
    OutboxEntry.objects.filter(kind=INGEST, subject=version.pk).delete()


def require_mode(value: str) -> Same:
    if value == "replace":
        return "replace"
    if value == "keep":
        return "keep"
    raise InvalidInput("same has to be replace or keep.", field="same")
