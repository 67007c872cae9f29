"""What an operator sets: whether a server or channel is remembered and answered in, and what may be recalled there.

Every change carries the count that the operator's page was made at; what somebody else changed since is not written over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from memory import policies
from memory.capture.backfill.cohorts import finish_if_read
from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import Channel, Guild, ScanChannel
from memory.models.locks import locked

FOR_CHANNELS = frozenset({"capture_enabled", "reply_enabled", "mention_needed", "recalls"})
FOR_SERVERS = FOR_CHANNELS | {"enabled", "recall_policy"}
MOST_CHANNELS = 1_000


class PolicyConflict(Conflict):
    """Somebody changed the same policies since they were looked at; ``names`` says of what."""

    code = "policy_conflict"

    def __init__(self, names: Collection[str]) -> None:
        self.names = tuple(names)
        shown = ", ".join(self.names[:5]) + (", …" if len(self.names) > 5 else "")
        super().__init__(
            f"Somebody changed {shown} since you opened the page. Nothing was saved: look at it again."
        )


def change_server(guild_id: int, values: Mapping[str, Any], *, as_of: int | None = None) -> Guild:
    """Sets policies of a server by name (``FOR_SERVERS``). What is stored stays.

    Raises ``NotFound``, ``InvalidInput``, and ``PolicyConflict`` if they were changed after the count ``as_of``.
    """
    _check(values, FOR_SERVERS)
    if values.get("recall_policy", Guild.RecallPolicy.AUDIENCE) not in Guild.RecallPolicy.values:
        raise InvalidInput("There is no such recall policy.")
    if not values.get("recalls", True):
        raise InvalidInput("A server has to say what is recalled in its channels.")
    with transaction.atomic():
        row = _server(guild_id)
        changed = [name for name, value in values.items() if getattr(row, name) != value]
        if not changed:
            return row
        if as_of is not None and row.policy_version > as_of:
            raise PolicyConflict([str(row)])
        for name in changed:
            setattr(row, name, values[name])
        row.policy_count += 1
        row.policy_version = row.policy_count
        row.save(update_fields=[*changed, "policy_count", "policy_version"])
        _stop_reading(row)
    return row


def change_channels(
    guild_id: int, channel_ids: Collection[int] | None, values: Mapping[str, Any], *, as_of: int | None = None
) -> list[Channel]:
    """Sets policies of channels by name (``FOR_CHANNELS``; None or empty is inherited); threads follow theirs.

    ``channel_ids`` are Discord's, of channels and categories, None for all channels of the server (which leaves the categories
    as they are); those of other servers are passed over. Returns what
    changed. Raises ``NotFound``, ``InvalidInput``, and ``PolicyConflict``: then nothing is changed.
    """
    _check(values, FOR_CHANNELS)
    if channel_ids is not None and len(channel_ids) > MOST_CHANNELS:
        raise InvalidInput(f"At most {MOST_CHANNELS:,} channels can be changed at once.")
    with transaction.atomic():
        guild = _server(guild_id)
        rows = locked(Channel.objects.filter(guild=guild, deleted_at=None).order_by("discord_id"))
        if channel_ids is None:
            rows = rows.filter(parent=None).exclude(kind=Channel.CATEGORY)
        else:
            rows = rows.filter(discord_id__in=channel_ids)
        changed = [row for row in rows if any(getattr(row, name) != value for name, value in values.items())]
        if not changed:
            return []
        late = [str(row) for row in changed if as_of is not None and row.policy_version > as_of]
        if late:
            raise PolicyConflict(late)
        guild.policy_count += 1
        guild.save(update_fields=["policy_count"])
        for row in changed:
            for name, value in values.items():
                setattr(row, name, value)
            row.policy_version = guild.policy_count
        Channel.objects.bulk_update(changed, [*values, "policy_version"], batch_size=200)
        _stop_reading(guild)
    return changed


def _server(guild_id: int) -> Guild:
    row = locked(Guild.objects.filter(discord_id=guild_id)).first()
    if row is None:
        raise NotFound("There is no such server.")
    return row


def _check(values: Mapping[str, Any], names: Collection[str]) -> None:
    for name, value in values.items():
        if name not in names:
            raise InvalidInput(f"{name} is no policy that can be set here.")
        fits = value in ("", *Guild.Recalls.values) if name == "recalls" else True
        if name not in {"recalls", "recall_policy"}:
            fits = value is None or isinstance(value, bool)
        if not fits:
            raise InvalidInput(f"{value!r} is no value of {name}.", field=name)


def _stop_reading(guild: Guild) -> None:
    """Histories of what is not remembered any more are read no further; members can ask again once it is switched on."""
    waiting = ScanChannel.objects.filter(guild=guild, state=ScanChannel.State.WAITING)
    rows = Channel.objects.filter(discord_id__in=waiting.values("channel_id")).select_related("parent")
    known = {row.discord_id: row for row in rows}
    scans = set()
    for one in waiting:
        row = known.get(one.channel_id)
        lineage = policies.lineage(row) if row is not None else []
        if not policies.resolve(guild, lineage, ids=[one.channel_id]).capture.value:
            ScanChannel.objects.filter(pk=one.pk).update(
                state=ScanChannel.State.UNREADABLE, error_code="capture_disabled", due_at=timezone.now()
            )
            scans.add(one.scan_id)
    for scan_id in scans:
        finish_if_read(scan_id)
