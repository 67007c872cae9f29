"""What people type into the dashboard, checked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from typing import Any, get_args

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.forms.utils import flatatt
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memory import selectors
from memory.models import Channel, Member, Message
from memory.selectors import MemberFilters, MemoryFilters, ReplyFilters
from memory.types import Source
from musebot_site.dashboard.http import number
from musebot_site.options import options

SIGN_IN_ERROR = (
    "Name and password do not match, or there were too many attempts. After five failures, wait 15 minutes."
)


class SignInForm(forms.Form):
    username = forms.CharField(
        label="Name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True}),
    )
    password = forms.CharField(
        strip=False, max_length=1000, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


class WelcomeForm(forms.Form):
    username = forms.CharField(
        label="Name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True}),
    )
    password = forms.CharField(
        strip=False,
        max_length=1000,
        help_text="At least ten characters, and not one of the well-known ones.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label="Password again",
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        User._meta.get_field("username").run_validators(name)
        return name

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if "password" in values and "again" in values and values["password"] != values["again"]:
            self.add_error("again", "The two passwords differ.")
        if "password" in values:
            try:
                validate_password(values["password"], User(username=values.get("username", "")))
            except forms.ValidationError as error:
                self.add_error("password", error)
        return values


class TypedConfirmation(forms.Form):
    """Something has to be typed before what cannot be undone."""

    typed = forms.CharField(
        max_length=200, widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )

    def __init__(self, *args: Any, accepted: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.accepted = [text for text in accepted if text]
        self.fields["typed"].label = f"Type {self.accepted[0]} to confirm"

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"].strip()
        if typed.removeprefix("@") not in self.accepted:
            raise forms.ValidationError(f"That is not {' or '.join(self.accepted)}. Nothing was erased.")
        return typed


def _day(**attrs: Any) -> forms.DateField:
    return forms.DateField(
        required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"), **attrs
    )


def _choice(label: str, choices: Sequence[tuple[str, str]]) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, required=False, choices=[("", "Any"), *choices])


CHANNELS_OF_ALL, CHANNELS_OF_ONE = 100, 300
"""Channels that may be chosen from, so that a page stays small."""


class LongSelect(forms.Select):
    """Hundreds of choices, written out in one go: a template for each takes longer than all the rest of a page."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        attributes = flatatt(self.build_attrs(self.attrs, attrs))
        written = options(self.choices, set(self.format_value(value)))
        return format_html('<select name="{}"{}>{}</select>', name, attributes, written)


class MemoryFilterForm(forms.Form):
    """The filters of the memories, as they stand in the address."""

    q = forms.CharField(label="Search", required=False, max_length=400)
    mode = forms.ChoiceField(
        label="Search by", required=False, choices=[("keyword", "Words"), ("semantic", "Meaning")]
    )
    channel = forms.ChoiceField(required=False, widget=LongSelect)
    member = forms.CharField(
        required=False, max_length=200, widget=forms.TextInput(attrs={"list": "member-names"})
    )
    source = _choice("Source", [(source, source) for source in get_args(Source)])
    embedding = _choice("Embedding", [(value, str(label)) for value, label in Message.Embedding.choices])
    since = _day(label="From")
    until = _day(label="To")

    def __init__(self, *args: Any, guild_id: int | None, only: int | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.guild_id, self.only = guild_id, only
        chosen = number(str(self.data.get("channel", "")))
        # Of all servers together those of the first: whoever looks for another channel chooses its server.
        limit = CHANNELS_OF_ALL if guild_id is None else CHANNELS_OF_ONE
        self.channels: list[Channel] = selectors.channels(guild_id, limit=limit, include=chosen)
        field = self.fields["channel"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "Any"), *_channel_choices(self.channels, grouped=guild_id is None)]

    def clean_member(self) -> Member | None:
        text: str = self.cleaned_data["member"].strip()
        if not text:
            return None
        found = selectors.find_member(text, guild_id=self.only)
        if found is None:
            raise forms.ValidationError("Nobody of that name or id has opted in.")
        return found

    def clean(self) -> dict[str, Any]:
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if since and until and since > until:
            self.add_error("until", "The last day is before the first.")
        return self.cleaned_data

    def filters(self) -> MemoryFilters:
        values = self.cleaned_data
        member: Member | None = values.get("member")
        return MemoryFilters(
            guild_id=self.guild_id,
            channel_id=int(values["channel"]) if values.get("channel") else None,
            user_id=member.user_id if member else None,
            since=_midnight(values["since"]) if values.get("since") else None,
            until=_midnight(values["until"] + timedelta(days=1)) if values.get("until") else None,
            source=values.get("source", ""),
            embedding=values.get("embedding", ""),
        )

    def active(self) -> list[tuple[str, str]]:
        """(parameter, as shown) of each filter that is set; the search is none of them."""
        values, shown = self.cleaned_data, []
        for name in ("channel", "member", "source", "embedding", "since", "until"):
            value = values.get(name)
            if not value:
                continue
            if name == "channel":
                value = next((f"#{row.name}" for row in self.channels if str(row.discord_id) == value), value)
            shown.append((name, f"{self.fields[name].label or name.title()}: {value}"))
        return shown


def _midnight(day: Any) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


def _channel_choices(rows: Sequence[Channel], *, grouped: bool) -> list[Any]:
    if not grouped:
        return [(str(row.discord_id), f"#{row.name or row.discord_id}") for row in rows]
    groups: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        groups.setdefault(str(row.guild), []).append((str(row.discord_id), f"#{row.name or row.discord_id}"))
    return list(groups.items())


class MemberFilterForm(forms.Form):
    q = forms.CharField(label="Name or id", required=False, max_length=200)
    origin = _choice("Opted in through", [])

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["origin"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "Any"), *((origin, origin) for origin in Member.ORIGINS)]

    def filters(self, guild_id: int | None) -> MemberFilters:
        values = self.cleaned_data
        return MemberFilters(text=values.get("q", ""), guild_id=guild_id, origin=values.get("origin", ""))


class ReplyFilterForm(forms.Form):
    kind = _choice("Kind", [("model", "model"), ("extractive", "extractive"), ("error", "error")])
    origin = _choice(
        "Asked in",
        [("discord", "Discord"), ("dashboard", "dashboard"), ("api", "API"), ("command", "command line")],
    )
    member = forms.CharField(label="Asked by", required=False, max_length=200)

    def __init__(self, *args: Any, only: int | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.only = only

    def clean_member(self) -> int | None:
        text: str = self.cleaned_data["member"].strip()
        if not text:
            return None
        found = selectors.find_member(text, guild_id=self.only)
        if found is None:
            raise forms.ValidationError("Nobody of that name or id has opted in.")
        return found.user_id

    def filters(self, guild_id: int | None) -> ReplyFilters:
        values = self.cleaned_data
        return ReplyFilters(
            guild_id=guild_id,
            user_id=values.get("member"),
            kind=values.get("kind", ""),
            origin=values.get("origin", ""),
        )
