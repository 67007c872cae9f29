"""Which entries of a member's archive may be found in a place, and the place an entry was learned in."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from memory import snapshots
from memory.blocks.types import Place
from memory.models import ArchivalEntry, Channel, Guild, Scope
from memory.models.fast import get
from memory.pseudonyms import scope_number


def own_entries(place: Place) -> QuerySet[ArchivalEntry]:
    """Live entries of the member that may be used in an answer given here.

    In private all of them. Elsewhere nothing that was learned in private, and only what was learned where every reader of the
    answer can read, unless the operator lets everything known of a member be used in groups.
    """
    rows = ArchivalEntry.objects.filter(scope=Scope.USER, scope_key=place.user_id, deleted_at=None)
    if place.private:
        return rows
    rows = rows.filter(private=False)
    if place.shows_human:
        return rows
    here = Q(guild__discord_id=place.guild_id)
    channels = visible_channels(place)
    return rows.filter(here if channels is None else here & Q(channel_id__in=channels))


def learned_here(place: Place) -> QuerySet[ArchivalEntry]:
    """Live entries of the member that come from this very place."""
    rows = ArchivalEntry.objects.filter(
        scope=Scope.USER, scope_key=place.user_id, private=place.private, deleted_at=None
    )
    return rows if place.private else rows.filter(channel_id=place.channel_id)


def visible_channels(place: Place) -> frozenset[int] | None:
    """Channels that an answer here may use; None for all of the server. Deleted ones are out."""
    guild = get(Guild, discord_id=place.guild_id)
    if guild is None:
        return frozenset({place.channel_id})
    seen = snapshots.visible_channels(guild=guild, channel_id=place.channel_id, asker_id=place.user_id)
    deleted = set(
        Channel.objects.filter(guild=guild).exclude(deleted_at=None).values_list("discord_id", flat=True)
    )
    if seen.ids is not None:
        return frozenset(seen.ids - deleted)
    if not deleted:
        return None
    everything = Channel.objects.filter(guild=guild, deleted_at=None).values_list("discord_id", flat=True)
    return frozenset(everything)


def partition(scope: str, key: int, *, private: bool) -> int:
    """The number that stands for a scope in the index of vectors."""
    return scope_number(f"{scope}:{key}:{int(private)}")
