"""What an operator switches: whether a server or channel is remembered and answered in, and what may be recalled there."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from memory.errors import InvalidInput, NotFound
from memory.models import Channel, Guild


def change_server(guild_id: int, *, capture_enabled: bool, recall_policy: str) -> Guild:
    """Raises ``NotFound`` and ``InvalidInput``. What is stored stays; switched off, nothing more is stored."""
    if recall_policy not in Guild.RecallPolicy.values:
        raise InvalidInput("There is no such recall policy.")
    with transaction.atomic():
        row = Guild.objects.filter(discord_id=guild_id).first()
        if row is None:
            raise NotFound("There is no such server.")
        row.capture_enabled, row.recall_policy = capture_enabled, recall_policy
        row.save(update_fields=["capture_enabled", "recall_policy"])
    return row


def change_channels(guild_id: int, switches: Mapping[int, tuple[bool, bool]]) -> int:
    """Sets (remember, reply) by Discord's id of a channel; threads follow theirs. Returns how many changed; others are no error."""
    changed = []
    with transaction.atomic():
        for row in Channel.objects.filter(guild__discord_id=guild_id, discord_id__in=switches):
            wanted = switches[row.discord_id]
            if (row.capture_enabled, row.reply_enabled) != wanted:
                row.capture_enabled, row.reply_enabled = wanted
                changed.append(row)
        Channel.objects.bulk_update(changed, ["capture_enabled", "reply_enabled"])
    return len(changed)
