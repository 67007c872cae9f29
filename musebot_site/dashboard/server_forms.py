"""What is set for a server and its channels."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from memory.models import Channel, Guild
from memory.policies import Policy
from memory.retention import LONGEST_DAYS
from musebot_site.dashboard.http import number

READABLE = [
    (Guild.RecallPolicy.AUDIENCE.value, "What everybody in the channel may read"),
    (Guild.RecallPolicy.MEMBER.value, "What the person who asks may read"),
    (Guild.RecallPolicy.GUILD.value, "Everything said on the server"),
]
RECALLS = [
    (Guild.Recalls.READERS.value, "Everything its readers can read"),
    (Guild.Recalls.CHANNEL.value, "This channel only"),
    (Guild.Recalls.NOTHING.value, "Nothing"),
]
SWITCH = [("on", "On"), ("off", "Off")]
NEEDED = [("yes", "Needed"), ("no", "Not needed")]
FIELDS = {
    "remember": "capture_enabled",
    "reply": "reply_enabled",
    "mention": "mention_needed",
    "recall": "recalls",
}
"""Names in forms, and what they set."""
LABELS = {
    "remember": "Remember what members say",
    "reply": "Reply",
    "mention": "A mention",
    "recall": "Recalled in answers",
}
WORDS: dict[str, dict[Any, str]] = {
    "remember": {True: "on", False: "off"},
    "reply": {True: "on", False: "off"},
    "mention": {True: "needed", False: "not needed"},
    "recall": {key: text[:1].lower() + text[1:] for key, text in RECALLS},
}
TRUTH = {"on": True, "off": False, "yes": True, "no": False}
LEAVE = "leave"


class PolicyForm(forms.Form):
    """The four policies; ``as_of`` is the count of changes that the page was made at."""

    as_of = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def values(self) -> dict[str, Any]:
        """What to set, by the names of the models; what is to be left is not in it."""
        chosen = {name: self.cleaned_data[name] for name in FIELDS if name in self.cleaned_data}
        return {FIELDS[name]: _value(name, text) for name, text in chosen.items() if text != LEAVE}


def _value(name: str, text: str) -> Any:
    return text if name == "recall" else TRUTH.get(text)


def _choice(name: str, choices: list[tuple[str, str]], *, required: bool = False) -> forms.ChoiceField:
    """Where a first choice leaves things as they are, it is the one that is shown."""
    initial = LEAVE if choices and choices[0][0] == LEAVE else None
    return forms.ChoiceField(label=LABELS[name], choices=choices, required=required, initial=initial)


def _options(name: str) -> list[tuple[str, str]]:
    return {"remember": SWITCH, "reply": SWITCH, "mention": NEEDED, "recall": RECALLS}[name]


class ServerForm(PolicyForm):
    """The policies that count where a channel says nothing else."""

    enabled = forms.BooleanField(
        label="Musebot works on this server",
        required=False,
        help_text="Switched off, nothing is stored and nobody is answered in any channel. /memory forget goes on working.",
    )
    remember = _choice("remember", SWITCH, required=True)
    reply = _choice("reply", SWITCH, required=True)
    mention = _choice("mention", [])
    recall = _choice("recall", RECALLS, required=True)
    recall_policy = forms.ChoiceField(
        label="Whose readers count",
        choices=READABLE,
        help_text="Which messages may be used for an answer in a channel. The last one lets what was said in private channels "
        "surface in public ones.",
    )

    def __init__(self, *args: Any, mention_configured: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["mention"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", f"Configured: {WORDS['mention'][mention_configured]}"), *NEEDED]

    @classmethod
    def of(cls, guild: Guild, data: QueryDict | None, *, mention_configured: bool) -> ServerForm:
        initial: dict[str, Any] = {name: _text(name, getattr(guild, field)) for name, field in FIELDS.items()}
        initial |= {
            "enabled": guild.enabled,
            "recall_policy": guild.recall_policy,
            "as_of": guild.policy_count,
        }
        return cls(data, initial=initial, mention_configured=mention_configured)

    def values(self) -> dict[str, Any]:
        named = ("enabled", "recall_policy")
        return super().values() | {name: self.cleaned_data[name] for name in named}


class ChannelForm(PolicyForm):
    """The policies of one channel. Those that the configuration fixes have no field."""

    remember = _choice("remember", [])
    reply = _choice("reply", [])
    mention = _choice("mention", [])
    recall = _choice("recall", [])

    def __init__(self, *args: Any, policy: Policy, inherited: Policy, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        settings = {"remember": "capture", "reply": "reply", "mention": "mention", "recall": "recall"}
        for name, attribute in settings.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            if getattr(policy, attribute).why:
                del self.fields[name]
                continue
            from_server = WORDS[name][getattr(inherited, attribute).value]
            field.choices = [("", f"Inherits: {from_server}"), *_options(name)]

    @classmethod
    def of(cls, row: Channel, data: Any, *, policy: Policy, inherited: Policy, as_of: int) -> ChannelForm:
        initial: dict[str, Any] = {name: _text(name, getattr(row, field)) for name, field in FIELDS.items()}
        return cls(data, initial=initial | {"as_of": as_of}, policy=policy, inherited=inherited)


class BulkForm(PolicyForm):
    """A change of several channels at once; what is not chosen is left as it is."""

    which = forms.ChoiceField(required=False, choices=[("all", "all")])
    remember = _choice("remember", [(LEAVE, "Leave"), ("", "Inherit"), *SWITCH])
    reply = _choice("reply", [(LEAVE, "Leave"), ("", "Inherit"), *SWITCH])
    mention = _choice("mention", [(LEAVE, "Leave"), ("", "Inherit"), *NEEDED])
    recall = _choice("recall", [(LEAVE, "Leave"), ("", "Inherit"), *RECALLS])

    def chosen(self) -> list[int] | None:
        """Discord's ids of the channels that were ticked; None for all of the server."""
        if self.cleaned_data["which"] == "all":
            return None
        data = self.data
        ticked = data.getlist("key") if isinstance(data, QueryDict) else []
        return [found for value in ticked[:1000] if (found := number(value)) is not None]


def _text(name: str, value: Any) -> str:
    if name == "recall":
        return value or ""
    words = ("yes", "no") if name == "mention" else ("on", "off")
    return "" if value is None else words[0] if value else words[1]


class RetentionForm(forms.Form):
    """How long what was said on a server is kept."""

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
    def of(cls, guild: Guild, data: QueryDict | None) -> RetentionForm:
        names = ("keep_after_leaving_days", "max_age_days")
        return cls(data, initial={name: getattr(guild, name) for name in names})
