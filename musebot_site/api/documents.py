"""Documents: upload, replace, look after, delete; and what retrieval finds in them."""

from __future__ import annotations

import json
from typing import IO, Any, cast

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest, QueryDict
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.utils.datastructures import MultiValueDict
from ninja import Query, Router
from ninja.errors import HttpError
from ninja.responses import Status
from pydantic import ValidationError as FormError

from memory import errors, selectors
from memory.conf import get_config
from memory.models import Document
from memory.rag import documents
from memory.rag.errors import too_large
from memory.rag.options import Filters, Hit
from memory.rag.retriever import DocumentRetriever
from musebot_site.api.asking import find_scope
from musebot_site.api.auth import READ_OF_SERVERS, WRITE_OF_SERVERS, reaches, require_server
from musebot_site.api.document_schemas import (
    UPLOAD,
    Change,
    DocumentOut,
    DocumentsOut,
    HitOut,
    LeftOutOut,
    ListFilters,
    RetrieveIn,
    RetrieveOut,
    UploadedOut,
    document_out,
)
from musebot_site.api.schemas import REFUSALS, Id, Problem, RemovedOut

router = Router(tags=["documents"])


class SizeLimit(FileUploadHandler):
    """Stops an upload at the first byte that is too many, before it fills memory or disk."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.most = get_config().rag.max_file_bytes
        self.seen = 0

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        self.seen = 0
        super().new_file(*args, **kwargs)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        self.seen += len(raw_data)
        if self.seen > self.most:
            raise too_large(self.seen, self.most)
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None


@router.post("retrieve", auth=READ_OF_SERVERS, response={200: RetrieveOut, REFUSALS: Problem})
def retrieve(request: HttpRequest, body: RetrieveIn) -> RetrieveOut:
    """Passages of documents that may answer, best first."""
    require_server(request, body.guild_id)
    find_scope(body.guild_id, None)
    found = DocumentRetriever().search(
        body.query, body.top_k, body.min_score, filters=Filters(guild_id=body.guild_id)
    )
    return RetrieveOut(
        results=[HitOut(**hit.to_json()) for hit in found.hits],
        left_out=[_left_out(hit) for hit in found.left_out],
        degraded=found.degraded,
        timings=dict(found.timings),
    )


def _left_out(hit: Hit) -> LeftOutOut:
    return LeftOutOut(**hit.to_json(), why_excluded=hit.why_excluded)


@router.get("documents", auth=READ_OF_SERVERS, response={200: DocumentsOut, REFUSALS: Problem})
def list_documents(request: HttpRequest, filters: Query[ListFilters]) -> DocumentsOut:
    """Changed last first. `next_cursor` is null on the last page."""
    require_server(request, filters.guild_id)
    page = selectors.documents(
        selectors.DocumentFilters(text=filters.q, guild_id=filters.guild_id),
        limit=filters.limit,
        cursor=filters.cursor or None,
    )
    return DocumentsOut(results=[document_out(row) for row in page.rows], next_cursor=page.next_cursor)


@router.post(
    "documents",
    auth=WRITE_OF_SERVERS,
    response={202: UploadedOut, REFUSALS | {413, 415}: Problem},
    openapi_extra=UPLOAD,
)
def upload_documents(request: HttpRequest) -> Status[UploadedOut]:
    """Takes files in (multipart, field `file`, several are fine). They are read in the background: `GET` tells the progress.

    A document of the same name and scope is replaced once the new version is ready, unless `same` is `keep`.
    """
    request.upload_handlers = [SizeLimit(request), *request.upload_handlers]
    given = _files(request.FILES)
    values = request.POST
    guild_ids = _guild_ids(values)
    _require_servers(request, guild_ids)
    same = documents.require_mode(values.get("same") or "replace")
    # All names and sizes are checked before the first is read and taken in.
    for file in given:
        documents.check(file.name or "", file.size or 0)
    taken = [
        documents.upload(
            name=file.name or "", data=file.read(), guild_ids=guild_ids, same=same, origin=Document.Origin.API
        )
        for file in given
    ]
    return Status(202, UploadedOut(results=[_out(version.document_id) for version in taken]))


@router.get("documents/{document_id}", auth=READ_OF_SERVERS, response={200: DocumentOut, REFUSALS: Problem})
def get_document(request: HttpRequest, document_id: Id) -> DocumentOut:
    """One document with its versions, its state and its progress."""
    _find(request, document_id)
    return _out(document_id)


@router.put(
    "documents/{document_id}",
    auth=WRITE_OF_SERVERS,
    response={200: DocumentOut, 202: DocumentOut, REFUSALS | {413, 415}: Problem},
    openapi_extra=UPLOAD,
)
def change_document(request: HttpRequest, document_id: Id) -> Status[DocumentOut]:
    """A new version of it (multipart, field `file`), or changes as JSON: `enabled`, `everywhere`, `guild_ids`, `version`
    (goes back to that one), `retry`, `cancel`."""
    _own(request, document_id)
    if (request.content_type or "").startswith("multipart/"):
        _, given = _multipart(request)
        file = _files(given)[0]
        documents.check(file.name or "", file.size or 0)
        documents.replace(document_id, name=file.name or "", data=file.read())
        return Status(202, _out(document_id))
    change = _change(request)
    if change.everywhere or change.guild_ids is not None:
        _require_servers(request, None if change.everywhere else change.guild_ids)
    _apply(document_id, change)
    return Status(200, _out(document_id))


@router.delete(
    "documents/{document_id}", auth=WRITE_OF_SERVERS, response={200: RemovedOut, REFUSALS: Problem}
)
def delete_document(request: HttpRequest, document_id: Id) -> RemovedOut:
    """Deletes it with its versions, passages, words, vectors and files; `removed` counts passages."""
    _own(request, document_id)
    return RemovedOut(removed=documents.delete(document_id))


def _require_servers(request: HttpRequest, guild_ids: list[int] | None) -> None:
    """Every server that a document is to answer on; None is everywhere."""
    if not guild_ids:
        require_server(request, None)
    for one in guild_ids or ():
        require_server(request, one)


def _find(request: HttpRequest, document_id: int) -> Document:
    """A document that answers where the key reaches. Raises ``NotFound``."""
    row = documents.get(document_id)
    if not row.everywhere and not any(reaches(request, one) for one in _places(row) or [None]):
        raise errors.NotFound("There is no such document.")
    return row


def _own(request: HttpRequest, document_id: int) -> None:
    """One that answers nowhere else: what is changed of it changes for all. Raises ``NotFound`` and ``Forbidden``."""
    row = _find(request, document_id)
    if not all(reaches(request, one) for one in _places(row)):
        raise errors.Forbidden("This key is limited to servers, and the document answers elsewhere as well.")


def _places(row: Document) -> list[int | None]:
    return [None] if row.everywhere else [one.discord_id for one in row.guilds.all()]


def _files(given: MultiValueDict[str, UploadedFile]) -> list[UploadedFile]:
    found = [file for name in given for file in given.getlist(name)]
    if not found:
        raise errors.InvalidInput("Send the file as multipart/form-data in the field file.", field="file")
    return found


def _multipart(request: HttpRequest) -> tuple[QueryDict, MultiValueDict[str, UploadedFile]]:
    """Django reads forms of POST only."""
    request.upload_handlers = [SizeLimit(request), *request.upload_handlers]
    try:
        values, given = MultiPartParser(
            request.META, cast(IO[bytes], request), request.upload_handlers, request.encoding
        ).parse()
    except MultiPartParserError as error:
        raise errors.InvalidInput("The form cannot be read.", field="file") from error
    return values, given


def _guild_ids(values: QueryDict) -> list[int] | None:
    found = [part for value in values.getlist("guild_id") for part in value.split(",") if part.strip()]
    if not all(
        part.strip().isascii() and part.strip().isdecimal() and len(part.strip()) < 20 for part in found
    ):
        raise errors.InvalidInput("guild_id: an id is a string of up to 19 digits", field="guild_id")
    return [int(part) for part in found] or None


def _change(request: HttpRequest) -> Change:
    try:
        return Change.model_validate(json.loads(request.body or b"{}"))
    except FormError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise errors.InvalidInput(f"{field}: {first['msg']}", field=field) from error
    except (ValueError, RecursionError) as error:
        raise HttpError(400, "The body is neither JSON nor multipart/form-data.") from error


def _apply(document_id: int, change: Change) -> None:
    if change.everywhere and change.guild_ids:
        raise errors.InvalidInput(
            "A document answers everywhere or on servers; send one of the two.", field="guild_ids"
        )
    if change.everywhere is False and not change.guild_ids:
        raise errors.InvalidInput("Name the servers that it answers on in guild_ids.", field="guild_ids")
    if change.cancel:
        documents.cancel(document_id)
    if change.everywhere or change.guild_ids is not None:
        documents.set_scope(document_id, guild_ids=None if change.everywhere else change.guild_ids)
    if change.enabled is not None:
        documents.set_enabled(document_id, enabled=change.enabled)
    if change.version is not None:
        documents.roll_back(document_id, number=change.version)
    if change.retry:
        documents.retry(document_id)


def _out(document_id: int) -> DocumentOut:
    row = selectors.document(document_id)
    if row is None:
        raise errors.NotFound("There is no such document.")
    return document_out(row)
