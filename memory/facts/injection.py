"""Which facts a turn may use: those of the one who asks, where those who read the reply may know them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from memory import policies, snapshots
from memory.conf import get_config
from memory.consent import Consent
from memory.facts.services import live
from memory.models import Fact, Guild
from memory.types import TurnRequest


@dataclass(frozen=True, slots=True)
class InjectedFact:
    id: int
    text: str


def facts_for_turn(request: TurnRequest, asker: Consent | None) -> tuple[InjectedFact, ...]:
    """Facts for the prompt, oldest first; none where facts are off, or for somebody who has not opted in.

    In a private conversation all of them. In a server, where the operator allows it: those written by hand, and those learned in
    that server from messages that the readers of the reply may see. What was learned in private stays in private.
    """
    settings = get_config().facts
    if not settings.enabled or not settings.inject or asker is None or asker.user_id != request.asker.id:
        return ()
    if request.is_group and not settings.inject_in_groups:
        return ()
    rows = live(asker.user_id)
    if request.is_group:
        allowed = _allowed_in_group(request, rows)
        rows = [row for row in rows if row.id in allowed]
    return tuple(InjectedFact(row.id, row.text) for row in rows)


def _allowed_in_group(request: TurnRequest, rows: list[Fact]) -> set[int]:
    anywhere = {row.id for row in rows if row.audience == Fact.Audience.ANYWHERE}
    guild = Guild.objects.filter(discord_id=request.guild.id).first() if request.guild else None
    if guild is None:
        return anywhere
    visible = snapshots.visible_channels(
        guild=guild,
        channel_id=request.channel.id if request.channel else None,
        asker_id=request.asker.id or None,
    )
    if request.channel and not policies.recalls_everything(guild, request.channel.id):
        anywhere = set()  # they come from no channel
    here = [row.id for row in rows if row.audience == Fact.Audience.GUILD and row.guild_id == guild.pk]
    if not here:
        return anywhere
    learned = Fact.objects.filter(id__in=here)
    if visible.ids is not None:
        learned = learned.filter(Q(evidence__channel_id__in=visible.ids))
    return anywhere | set(learned.values_list("id", flat=True))
