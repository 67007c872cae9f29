"""The core-memory block of a member: read it, write it with the version that was read."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import AfterValidator, Field

from memory import blocks, errors, selectors
from memory.blocks.types import HUMAN
from memory.consent import Consent
from memory.models import Member
from musebot_site.api.auth import ADMIN, READ
from musebot_site.api.schemas import REFUSALS, Id, Input, Problem

router = Router(tags=["members"])
MOST = 100_000


class Block(Schema):
    label: str
    value: str
    version: int = Field(description="0: nothing was ever written.")
    chars: int = Field(description="Length in code points.")
    limit: int


class BlockIn(Input):
    value: Annotated[str, Field(max_length=MOST), AfterValidator(lambda value: value.replace("\0", ""))]
    version: int = Field(ge=0, le=2**31 - 1, description="The version that was read.")


Private = Annotated[
    bool, Query(False, description="The block of private conversations in place of the shared one.")
]


@router.get("members/{user_id}/blocks/{label}", auth=READ, response={200: Block, REFUSALS: Problem})
def get_block(request: HttpRequest, user_id: Id, label: str, private: Private = False) -> Block:
    """One block of a member; empty with version 0 where nothing was written yet."""
    _member(user_id)
    return _out(blocks.get(_ref(user_id, label, private)))


@router.put("members/{user_id}/blocks/{label}", auth=ADMIN, response={200: Block, REFUSALS: Problem})
def put_block(request: HttpRequest, user_id: Id, label: str, body: BlockIn, private: Private = False) -> Any:
    """Writes a block. 409 with the current one in `details` if `version` is old, 422 over the limit."""
    member = _member(user_id)
    if member.withdrawn_at is not None or member.paused_at is not None:
        raise errors.ConsentMissing("Nothing of this member may be written now.")
    ref = _ref(user_id, label, private)
    actor = blocks.Actor("admin", reason="through the API", consent=Consent(user_id, member.epoch))
    try:
        blocks.edit(ref, body.value, version=body.version, actor=actor)
    except blocks.BlockConflict as error:
        return _conflict(request, error)
    return _out(blocks.get(ref))


def _conflict(request: HttpRequest, error: blocks.BlockConflict) -> HttpResponse:
    from musebot_site.api.app import problem

    return problem(request, error.status, error.code, error.message, _out(error.block).dict())


def _member(user_id: int) -> Member:
    member = selectors.member(user_id)
    if member is None:
        raise errors.NotFound("This person has not opted in; nothing is stored of them.")
    return member


def _ref(user_id: int, label: str, private: bool) -> blocks.BlockRef:
    if label != HUMAN:
        raise errors.NotFound("A member has the block human.", field="label")
    return blocks.human(user_id, private=private)


def _out(block: blocks.Block) -> Block:
    return Block(
        label=block.label,
        value=block.value,
        version=block.version,
        chars=block.chars,
        limit=block.limit,
    )
