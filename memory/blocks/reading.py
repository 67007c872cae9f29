"""Blocks as they are."""

from __future__ import annotations

from collections.abc import Sequence

from memory.blocks.types import Block, BlockRef, Place, channel_persona, human, persona
from memory.models import MemoryBlock, fast


def get(ref: BlockRef) -> Block:
    """The block; one that nobody has written to is empty, with version 0."""
    row = fast.get(MemoryBlock, **where(ref))
    return Block.of(row) if row else Block.absent(ref)


def where(ref: BlockRef) -> dict[str, object]:
    return {"scope": ref.scope, "scope_key": ref.key, "label": ref.label, "private": ref.private}


def persona_for(guild_id: int | None, channel_ids: Sequence[int] = ()) -> Block:
    """What a channel has in place of its server's persona, or what that has in place of the installation's, or that one.

    ``channel_ids`` are the channel and those that it inherits from, itself first.
    """
    for channel_id in channel_ids:
        own = get(channel_persona(channel_id))
        if own.value:
            return own
    if guild_id is not None:
        own = get(persona(guild_id))
        if own.value:
            return own
    return get(persona())


def blocks_for(place: Place) -> list[Block]:
    """The blocks that stand in the prompt of a turn beside the persona, in their order.

    In a private conversation these are both blocks of the member; elsewhere the shared one, where it may be used at all. The
    one that a turn writes is ``place.human()``.
    """
    refs: list[BlockRef] = []
    if place.private:
        refs.append(human(place.user_id))
    if place.shows_human:
        refs.append(place.human())
    return [get(ref) for ref in (*refs, place.working_context())]
