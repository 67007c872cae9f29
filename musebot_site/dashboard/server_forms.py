"""What is switched for a server and its channels."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from memory.models import Guild
from memory.retention import LONGEST_DAYS
from musebot_site.dashboard.http import number

POLICIES = [
    (Guild.RecallPolicy.AUDIENCE.value, "What everybody in the channel may read"),
    (Guild.RecallPolicy.MEMBER.value, "What the person who asks may read"),
    (Guild.RecallPolicy.GUILD.value, "Everything said on the server"),
]


class ServerForm(forms.Form):
    """Capture, recall and retention of one server."""

    capture_enabled = forms.BooleanField(
        label="Remember what members say here",
        required=False,
        help_text="Switched off, nothing more is stored; what is stored stays and is recalled.",
    )
    recall_policy = forms.ChoiceField(
        label="What may be recalled in a channel",
        choices=POLICIES,
        help_text="The last one lets what was said in private channels surface in public ones.",
    )
    keep_after_leaving_days = forms.IntegerField(
        label="Days kept after the bot, or a member, has left",
        min_value=0,
        max_value=LONGEST_DAYS,
        help_text="0 purges with the next daily run.",
    )
    max_age_days = forms.IntegerField(
        label="Days kept in any case",
        required=False,
        min_value=1,
        max_value=LONGEST_DAYS,
        help_text="Older messages are purged daily. Empty for no limit.",
    )

    @classmethod
    def of(cls, guild: Guild, data: QueryDict | None) -> ServerForm:
        names = ("capture_enabled", "recall_policy", "keep_after_leaving_days", "max_age_days")
        initial: dict[str, Any] = {name: getattr(guild, name) for name in names}
        return cls(data, initial=initial)


def channel_switches(data: QueryDict) -> dict[int, tuple[bool, bool]]:
    """(remember, reply) of the channels that the page listed; a box that is not ticked is not sent."""
    remember, reply = set(data.getlist("remember")), set(data.getlist("reply"))
    return {
        found: (value in remember, value in reply)
        for value in data.getlist("channel")[:1000]
        if (found := number(value)) is not None
    }
