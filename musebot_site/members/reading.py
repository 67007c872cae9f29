"""Who may read a document as a source, and the parts of it that are shown. What is not known to be allowed is not shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from memory import snapshots
from memory.models import Chunk, Document, Guild
from memory.rag.chunking import Chunk as Piece
from memory.rag.chunking import join
from musebot_site.members.sign_in import Person


def may_read(person: Person, document: Document) -> bool:
    """A document that answers is for those who share a server with the bot on which it does.

    Where the bot lately saw who reads what, that counts; otherwise the list of servers that Discord gave at sign-in.
    """
    if not document.enabled or document.active_id is None:
        return False
    guilds = Guild.objects.filter(kind=Guild.Kind.GUILD, left_at=None)
    if document.everywhere:
        guilds = guilds.filter(discord_id__in=person.servers)
    else:
        guilds = guilds.filter(documents=document)
    return any(_is_there(person, guild) for guild in guilds)


def _is_there(person: Person, guild: Guild) -> bool:
    seen = snapshots.is_reader(guild=guild, user_id=person.user_id)
    return guild.discord_id in person.servers if seen is None else seen


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of the document under one heading, with the keys of the passages that it is made of."""

    heading: tuple[str, ...]
    where: str
    text: str
    keys: tuple[int, ...]


def sections(chunks: Sequence[Chunk]) -> list[Section]:
    """Passages in order as continuous text: what two of them share stands there once."""
    return [_section(list(group)) for _, group in groupby(chunks, key=lambda chunk: chunk.section)]


def _section(chunks: list[Chunk]) -> Section:
    first = chunks[0]
    where = f"page {first.page}" if first.page is not None else f"record {first.row}" if first.row else ""
    pieces = [
        Piece(row.index, row.text, row.heading_path, row.page, row.row, row.section, row.start, row.end)
        for row in chunks
    ]
    text = join(pieces)
    # A document whose text holds its own headings needs none above it.
    heading = () if text.startswith("#") else first.heading_path
    return Section(heading, where, text, tuple(row.key for row in chunks))
