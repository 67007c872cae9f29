"""Who can read which channel, as the bot last saw it on Discord, and what may therefore be recalled where.

Readers are kept as sets of keyed hashes, sorted; channels with the same readers share one set. Where nothing is known, or what is
known is older than a day, only what was said in the same channel may be used.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import numpy.typing as npt
from django.db import connection, transaction
from django.utils import timezone

from memory import policies
from memory.models import Audience, Channel, Guild
from memory.models.locks import hold, locked
from memory.pseudonyms import reader_hash
from memory.types import ChannelInfo, GuildInfo

STALE_AFTER = timedelta(days=1)
SAME_CHANNEL_ONLY = "same_channel_only"
RECALL_OFF = "recall_off"

Readers = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class VisibleChannels:
    """Channels whose memories may be used; ``ids=None`` means all of the server."""

    ids: frozenset[int] | None
    degraded: str = ""
    """``same_channel_only`` where too little is known of who reads what, ``recall_off`` where nothing is to be recalled."""


def record(
    *,
    guild: GuildInfo,
    readers: Mapping[int, Iterable[int] | None],
    channels: Sequence[ChannelInfo] = (),
) -> None:
    """Stores a complete snapshot of a server.

    ``readers`` has the ids of the people who can read each channel, None where that is not known. Channels that are not in it become
    unknown; threads without an entry have their parent's readers (private ones never).
    """
    hashes: dict[int, int] = {}
    packed: dict[int, bytes] = {}
    for channel_id, people in readers.items():
        if people is not None:
            packed[channel_id] = _pack(people, hashes)
    digests = {channel_id: hashlib.sha256(blob).hexdigest() for channel_id, blob in packed.items()}
    with transaction.atomic():
        hold("readers", guild.id)
        row, _ = Guild.objects.get_or_create(
            discord_id=guild.id, defaults={"name": guild.name, "kind": guild.kind}
        )
        locked(Guild.objects.filter(pk=row.pk)).first()  # before its channels, as everybody does
        for channel in channels:
            _ensure_channel(row, channel)
        blobs = {digests[channel_id]: blob for channel_id, blob in packed.items()}
        known = set(Audience.objects.filter(guild=row, digest__in=blobs).values_list("digest", flat=True))
        Audience.objects.bulk_create(
            [Audience(guild=row, digest=d, readers=b) for d, b in blobs.items() if d not in known]
        )
        ids = dict(Audience.objects.filter(guild=row, digest__in=blobs).values_list("digest", "id"))
        Channel.objects.filter(guild=row).exclude(audience=None).exclude(discord_id__in=digests).update(
            audience=None
        )
        for digest, audience_id in ids.items():
            having = [channel_id for channel_id, other in digests.items() if other == digest]
            Channel.objects.filter(guild=row, discord_id__in=having).update(audience=audience_id)
        Audience.objects.filter(guild=row).exclude(id__in=ids.values()).delete()
        Guild.objects.filter(pk=row.pk).update(snapshot_at=timezone.now())


def touch(guild_id: int) -> None:
    """Says that the last snapshot of a server (by Discord's id) still holds; without one it does nothing."""
    Guild.objects.filter(discord_id=guild_id, snapshot_at__isnull=False).update(snapshot_at=timezone.now())


def visible_channels(*, guild: Guild, channel_id: int | None, asker_id: int | None) -> VisibleChannels:
    """The channels whose memories may enter a reply in ``channel_id``: those that its readers may read, and its policy leaves.

    Where nothing is to be recalled there, none.
    """
    readable = readable_channels(guild=guild, channel_id=channel_id, asker_id=asker_id)
    if channel_id is None:
        return readable
    ids = policies.recalled_from(guild, channel_id, readable.ids)
    return VisibleChannels(ids, readable.degraded if ids is None or ids else RECALL_OFF)


def readable_channels(*, guild: Guild, channel_id: int | None, asker_id: int | None) -> VisibleChannels:
    """The channels that may be read by those who read ``channel_id``, by the server's policy.

    Without a channel nobody but the operator reads the reply, and all are visible. It fails closed: an unknown reply channel, an
    unknown asker (policy ``member``) or a snapshot older than a day leave the same channel only.
    """
    if channel_id is None or guild.recall_policy == Guild.RecallPolicy.GUILD:
        return VisibleChannels(None)
    if guild.kind in {Guild.Kind.DM, Guild.Kind.SANDBOX}:
        return VisibleChannels(None)  # a scope of its own: there are no other channels
    same = VisibleChannels(frozenset({channel_id}), SAME_CHANNEL_ONLY)
    # Invented people move to no other channel, and no bot would tell.
    stale = guild.snapshot_at is None or timezone.now() - guild.snapshot_at > STALE_AFTER
    if stale and not guild.is_sample:
        return same
    audiences = _audiences(guild)
    if guild.recall_policy == Guild.RecallPolicy.MEMBER:
        if asker_id is None:
            return same
        allowed = _read_by(reader_hash(asker_id), set(audiences.values()))
    else:
        target = audiences.get(channel_id)
        if target is None:
            return same
        allowed = {source for source in set(audiences.values()) if _covers(source, target)}
    visible = {other for other, audience in audiences.items() if audience in allowed}
    return VisibleChannels(frozenset(visible | {channel_id}))


def is_reader(*, guild: Guild, user_id: int) -> bool | None:
    """Whether a person can read any channel of a server; None where that is not known, or was known longer than a day ago."""
    if guild.snapshot_at is None or timezone.now() - guild.snapshot_at > STALE_AFTER:
        return None
    audiences = set(_audiences(guild).values())
    return bool(_read_by(reader_hash(user_id), audiences)) if audiences else None


@dataclass(frozen=True, slots=True)
class _Audience:
    id: int
    digest: str


def _audiences(guild: Guild) -> dict[int, _Audience]:
    """The audience of each channel of a server where it is known; a public thread has its parent's."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT channel.discord_id, channel.kind, own.id, own.digest, parents.id, parents.digest "
            "FROM memory_channel AS channel LEFT JOIN memory_audience AS own ON own.id = channel.audience_id "
            "LEFT JOIN memory_channel AS parent ON parent.discord_id = channel.parent_id "
            "LEFT JOIN memory_audience AS parents ON parents.id = parent.audience_id "
            "WHERE channel.guild_id = %s",
            [guild.ordinal],
        )
        rows = cursor.fetchall()
    found: dict[int, _Audience] = {}
    for channel_id, kind, own, digest, parents, parents_digest in rows:
        if own is not None:
            found[channel_id] = _Audience(own, digest)
        elif parents is not None and kind != "private_thread":
            found[channel_id] = _Audience(parents, parents_digest)
    return found


def _pack(people: Iterable[int], hashes: dict[int, int]) -> bytes:
    for person in people if isinstance(people, set | frozenset) else (people := set(people)):
        if person not in hashes:
            hashes[person] = reader_hash(person)
    return np.sort(np.array([hashes[person] for person in people], dtype="<u8")).tobytes()


def _ensure_channel(guild: Guild, channel: ChannelInfo) -> None:
    if channel.parent is not None:
        _ensure_channel(guild, channel.parent)
    Channel.objects.get_or_create(
        discord_id=channel.id,
        defaults={
            "guild": guild,
            "name": channel.name,
            "kind": channel.kind,
            "topic": channel.topic,
            "parent_id": channel.parent.id if channel.parent else None,
        },
    )


_lock = threading.Lock()
_verdicts: OrderedDict[tuple[str, str], bool] = OrderedDict()
_MOST_VERDICTS = 20_000


def _covers(source: _Audience, target: _Audience) -> bool:
    """Whether everybody of the target can read the source. A digest stands for its readers, so a verdict holds for ever."""
    if source.digest == target.digest:
        return True
    pair = (source.digest, target.digest)
    with _lock:
        if pair in _verdicts:
            _verdicts.move_to_end(pair)
            return _verdicts[pair]
    inside = _contained(_readers(target.id), _readers(source.id))
    with _lock:
        _verdicts[pair] = inside
        while len(_verdicts) > _MOST_VERDICTS:
            _verdicts.popitem(last=False)
    return inside


def _contained(part: Readers | None, whole: Readers | None) -> bool:
    """Whether all of ``part`` is in ``whole``, both sorted. An audience that is gone, or nobody at all, tells nothing."""
    if part is None or whole is None or not part.size or part.size > whole.size:
        return False
    at = np.searchsorted(whole, part)
    return bool((at < whole.size).all() and (whole[np.minimum(at, whole.size - 1)] == part).all())


def _read_by(person: int, audiences: Iterable[_Audience]) -> set[_Audience]:
    one = np.array([person], dtype="<u8")
    return {audience for audience in audiences if _contained(one, _readers(audience.id))}


def _readers(audience_id: int) -> Readers | None:
    blob = Audience.objects.filter(id=audience_id).values_list("readers", flat=True).first()
    return None if blob is None else np.frombuffer(bytes(blob), dtype="<u8")
