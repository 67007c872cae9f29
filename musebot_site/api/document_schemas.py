"""Documents as they go in and out, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from ninja import Field, Schema

from memory.models import Document, DocumentVersion
from musebot_site.api.schemas import Cursor, Id, Input, Text

UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "array", "items": {"type": "string", "format": "binary"}},
                        "guild_id": {"type": "array", "items": {"type": "string"}},
                        "same": {"type": "string", "enum": ["replace", "keep"], "default": "replace"},
                    },
                }
            }
        },
    }
}


class VersionOut(Schema):
    number: int
    state: str = Field(description="queued, parse, chunk, embed, ready, failed or cancelled.")
    error: str = Field(description="Stable code; empty if nothing is wrong.")
    reason: str = Field(description="Stable word for the cause.")
    message: str
    warnings: list[str]
    kind: str
    bytes: int
    sha256: str
    chunks_total: int
    chunks_done: int
    chunks_embedded: int = Field(description="Passages whose text had not been embedded before.")
    created_at: datetime
    ready_at: datetime | None


class DocumentOut(Schema):
    id: Id
    name: str
    source: str
    everywhere: bool
    guild_ids: list[Id]
    enabled: bool
    origin: str
    state: str = Field(description="Of its newest version.")
    progress: dict[str, Any] = Field(description="Stage, done and total of its newest version.")
    active_version: int | None = Field(description="The version that answers.")
    versions: list[VersionOut]
    created_at: datetime
    updated_at: datetime


class DocumentsOut(Schema):
    results: list[DocumentOut]
    next_cursor: str | None


class UploadedOut(Schema):
    results: list[DocumentOut]


class Change(Input):
    """What is given is changed."""

    enabled: bool | None = None
    everywhere: bool | None = None
    guild_ids: list[Id] | None = None
    version: int | None = Field(None, description="Number of the version to go back to.")
    retry: bool = False
    cancel: bool = False


class ListFilters(Schema):
    guild_id: Id | None = None
    q: Annotated[str, Field(max_length=200)] = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Cursor | None = None


class RetrieveIn(Input):
    query: Text
    guild_id: Id | None = Field(
        None, description="Server that asks. Without it only what answers everywhere."
    )
    top_k: int | None = Field(None, ge=1, le=100)
    min_score: float | None = Field(None, ge=-1, le=1)


class HitOut(Schema):
    text: str
    score: float
    scores: dict[str, float]
    source: str
    section: str
    citation: str
    id: str
    document_id: str
    index: int


class LeftOutOut(HitOut):
    why_excluded: str


class RetrieveOut(Schema):
    results: list[HitOut]
    left_out: list[LeftOutOut]
    degraded: str = Field("", description="no_vectors: found by words alone.")
    timings: dict[str, float]


def document_out(row: Document) -> DocumentOut:
    versions: list[DocumentVersion] = row.all_versions  # type: ignore[attr-defined]
    newest = versions[0] if versions else None
    return DocumentOut(
        id=row.pk,
        name=row.name,
        source=newest.source if newest else row.name,
        everywhere=row.everywhere,
        guild_ids=[guild.discord_id for guild in row.guilds.all()],
        enabled=row.enabled,
        origin=row.origin,
        state=newest.state if newest else "",
        progress={
            "stage": newest.state if newest else "",
            "done": newest.chunks_done if newest else 0,
            "total": newest.chunks_total if newest else 0,
        },
        active_version=row.active.number if row.active else None,
        versions=[_version_out(version) for version in versions],
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _version_out(version: DocumentVersion) -> VersionOut:
    return VersionOut(
        number=version.number,
        state=version.state,
        error=version.error_code,
        reason=version.reason,
        message=version.error,
        warnings=version.warnings,
        kind=version.kind,
        bytes=version.size,
        sha256=version.digest,
        chunks_total=version.chunks_total,
        chunks_done=version.chunks_done,
        chunks_embedded=version.chunks_embedded,
        created_at=version.created_at,
        ready_at=version.ready_at,
    )
