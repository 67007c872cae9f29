"""Blocks of core memory and their history, for the dashboard."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from memory.models import (
    BlockRevision,
    Channel,
    Guild,
    GuildMember,
    Member,
    MemoryBlock,
    PersonaProposal,
    Scope,
)
from memory.selectors.members import MAX_ID
from memory.selectors.paging import Page, keyset_page

FEW_MEMBERS = 1_000
"""Members of a server up to which blocks are found from them."""


@dataclass(frozen=True, slots=True)
class BlockFilters:
    label: str = ""
    text: str = ""
    """Part of a member's or channel's name, or an id."""
    guild_id: int | None = None
    """Sessions of one server; of members, those who are known there."""
    only_here: bool = False
    """With ``guild_id``: leaves out what is noted of members, which is of all servers."""


@dataclass(frozen=True, slots=True)
class BlockRow:
    """A block with the name of whose it is."""

    block: MemoryBlock
    whose: str
    detail: str = ""


def memory_blocks(filters: BlockFilters, *, limit: int = 50, cursor: str | None = None) -> Page[MemoryBlock]:
    """Blocks of members and sessions that hold or held something, those that changed last first."""
    # Said by what is left out: named by scope, SQLite would collect them all and sort them.
    rows = MemoryBlock.objects.exclude(scope__in=[Scope.GLOBAL, Scope.GUILD]).filter(version__gt=0)
    rows = rows.exclude(member__withdrawn_at__isnull=False)
    if filters.label:
        rows = rows.filter(label=filters.label)
    if filters.guild_id is not None:
        of_sessions, of_members = _of_server(filters.guild_id)
        rows = rows.filter(of_sessions if filters.only_here else of_sessions | of_members)
    if filters.text:
        rows = rows.filter(_named(filters.text))
    return keyset_page(
        rows.select_related("member"), moment="updated_at", key="id", limit=limit, cursor=cursor
    )


def _of_server(guild_id: int) -> tuple[Q, Q]:
    """Blocks of a server's sessions, and of its members.

    Of a small server they are found from its channels and members; of a large one by looking through the blocks in their order,
    which ends as soon as a page is full.
    """
    channels = Channel.objects.filter(guild__discord_id=guild_id)
    members = GuildMember.objects.filter(guild__discord_id=guild_id)
    if members[: FEW_MEMBERS + 1].count() <= FEW_MEMBERS:
        return (
            Q(scope=Scope.SESSION, scope_key__in=channels.values("discord_id")),
            Q(member__in=members.values("member")),
        )
    return (
        Q(Exists(channels.filter(discord_id=OuterRef("scope_key"))), scope=Scope.SESSION),
        Q(Exists(members.filter(member=OuterRef("member")))),
    )


def _named(text: str) -> Q:
    plain = text.strip().lstrip("@#")
    channels = Channel.objects.filter(name__icontains=plain).values("discord_id")
    query = Q(member__username__icontains=plain) | Q(member__display_name__icontains=plain)
    query |= Q(scope=Scope.SESSION, scope_key__in=channels)
    if plain.isascii() and plain.isdecimal() and int(plain) <= MAX_ID:
        query |= Q(scope_key=int(plain))
    return query


def memory_block(block_id: int) -> MemoryBlock | None:
    return MemoryBlock.objects.select_related("member").filter(pk=block_id).first()


def block_server(scope: str, key: int) -> int | None:
    """Discord's id of the server that a block is of: its own or that of its channel. None for a member's and for everywhere."""
    if scope == Scope.GUILD:
        return key
    if scope == Scope.SESSION:
        rows = Channel.objects.filter(discord_id=key).exclude(guild__kind=Guild.Kind.DM)
        return rows.values_list("guild__discord_id", flat=True).first()
    return None


def block_rows(blocks: tuple[MemoryBlock, ...] | list[MemoryBlock]) -> list[BlockRow]:
    """The blocks with names, read at once for all of them."""
    keys = {row.scope_key for row in blocks if row.scope == Scope.SESSION}
    channels = {
        row.discord_id: row for row in Channel.objects.filter(discord_id__in=keys).select_related("guild")
    }
    guild_keys = {row.scope_key for row in blocks if row.scope == Scope.GUILD}
    guilds = {row.discord_id: row for row in Guild.objects.filter(discord_id__in=guild_keys)}
    return [_row(row, channels.get(row.scope_key), guilds.get(row.scope_key)) for row in blocks]


def _row(row: MemoryBlock, channel: Channel | None, guild: Guild | None) -> BlockRow:
    if row.scope == Scope.USER:
        member = row.member
        name = str(member) if member else str(row.scope_key)
        return BlockRow(row, name, "private conversations" if row.private else "servers")
    if row.scope == Scope.SESSION:
        if channel is None:
            return BlockRow(row, str(row.scope_key), "session")
        return BlockRow(row, str(channel), str(channel.guild))
    if row.scope == Scope.GUILD:
        return BlockRow(row, str(guild) if guild else str(row.scope_key), "in place of the installation's")
    return BlockRow(row, "The installation", "everywhere")


def revisions(block_id: int, *, limit: int = 50) -> list[BlockRevision]:
    """Newest first, and one more than ``limit`` if there is, to compare the last with."""
    rows = BlockRevision.objects.filter(block_id=block_id).order_by("-version")
    return list(rows[: limit + 1])


def open_proposals() -> int:
    return PersonaProposal.objects.filter(state=PersonaProposal.State.OPEN, member__withdrawn_at=None).count()


def block_member(row: MemoryBlock) -> Member | None:
    return row.member if row.scope == Scope.USER else None
