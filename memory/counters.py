"""Counts that are kept in the transaction that writes, so that no page has to count the table of messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.db import connection
from django.db.models import Model

from memory.models import Channel, DailyCount, Guild, GuildMember, Member


@dataclass(frozen=True, slots=True)
class Counted:
    """What a message is counted under."""

    guild: int
    """Ordinal."""
    channel: int
    member: int
    """The owner."""
    sent_at: datetime


def change(rows: Iterable[Counted], *, by: int) -> None:
    """Adds ``by`` (1 or -1) for each message to all kept counts. Inside the transaction that stores or removes them."""
    guilds: Counter[int] = Counter()
    channels: Counter[int] = Counter()
    members: Counter[int] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    days: Counter[tuple[date, int, int]] = Counter()
    for row in rows:
        guilds[row.guild] += by
        channels[row.channel] += by
        members[row.member] += by
        pairs[row.guild, row.member] += by
        days[row.sent_at.astimezone(UTC).date(), row.guild, row.member] += by
    # In the order in which everybody takes these rows (see ``memory.models.locks``).
    _add(Member, "user_id", members)
    _add(Guild, "ordinal", guilds)
    _add(Channel, "discord_id", channels)
    table = GuildMember._meta.db_table
    _many(
        f"UPDATE {table} SET message_count = message_count + %s WHERE guild_id = %s AND member_id = %s",
        [(count, *pair) for pair, count in sorted(pairs.items())],
    )
    _change_days(days, drop=by < 0)


def _add(model: type[Model], key: str, counts: Counter[int]) -> None:
    statement = f"UPDATE {model._meta.db_table} SET message_count = message_count + %s WHERE {key} = %s"
    _many(statement, [(count, one) for one, count in sorted(counts.items())])


def _many(statement: str, values: list[tuple[Any, ...]]) -> None:
    if values:
        with connection.cursor() as cursor:
            cursor.executemany(statement, values)


def _change_days(days: Counter[tuple[date, int, int]], *, drop: bool) -> None:
    table = DailyCount._meta.db_table
    _many(
        f"INSERT INTO {table} (day, guild_id, member_id, count) VALUES (%s, %s, %s, %s) "
        f"ON CONFLICT (day, guild_id, member_id) DO UPDATE SET count = {table}.count + excluded.count",
        [(day, guild, member, count) for (day, guild, member), count in sorted(days.items())],
    )
    if drop:
        DailyCount.objects.filter(day__in={day for day, _, _ in days}, count__lte=0).delete()
