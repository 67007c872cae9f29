"""What is typed in to note a request to forget somebody: who, how it came in, when, and how much of it."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.utils import timezone

from memory import selectors
from memory.conf import get_config
from memory.erasure import Part
from memory.models import ErasureRequest, Guild
from memory.selectors import ErasureFilters
from memory.selectors.erasures import OPEN
from musebot_site.dashboard.http import number

Origin = ErasureRequest.Origin


class ErasureFilterForm(forms.Form):
    """The filters of the list, as they stand in the address."""

    state = forms.ChoiceField(
        label="State",
        required=False,
        choices=[
            ("", "Any"),
            (OPEN, "to be answered"),
            *((value, str(label)) for value, label in ErasureRequest.State.choices),
        ],
    )
    member = forms.CharField(
        label="Member", required=False, max_length=200, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    overdue = forms.BooleanField(label="Overdue", required=False)

    def clean_member(self) -> int | None:
        text: str = self.cleaned_data["member"].strip()
        return _person(text) if text else None

    def filters(self) -> ErasureFilters:
        values = self.cleaned_data
        return ErasureFilters(
            state=values.get("state", ""),
            user_id=values.get("member"),
            overdue=values.get("overdue", False),
        )


class RequestForm(forms.Form):
    member = forms.CharField(
        label="Who asks",
        max_length=200,
        help_text="User name, display name or Discord's id. An id will do for somebody who has not opted in.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    origin = forms.ChoiceField(
        label="How it came in",
        choices=[
            (Origin.MAIL, "by mail"),
            (Origin.MEMBER, "from the member"),
            (Origin.ADMIN, "an admin's own"),
        ],
    )
    received = forms.DateField(label="Received on")
    due = forms.DateField(label="Due on", required=False)
    server = forms.ChoiceField(label="Server", required=False)
    channel = forms.CharField(label="Channel", required=False, max_length=20, help_text="Discord's id of it.")
    since = forms.DateField(label="From", required=False)
    until = forms.DateField(label="To", required=False, help_text="This day included.")
    memory = forms.CharField(
        label="One memory", required=False, max_length=20, help_text="The id that its page shows."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        guilds = Guild.objects.exclude(kind=Guild.Kind.DM).order_by("name", "ordinal")[:1000]
        server = self.fields["server"]
        assert isinstance(server, forms.ChoiceField)
        server.choices = [("", "All servers"), *((str(row.discord_id), str(row)) for row in guilds)]
        for name in ("received", "due", "since", "until"):
            self.fields[name].widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
        self.fields["received"].initial = timezone.localdate()
        self.fields["due"].help_text = f"Empty: {get_config().erasure_days} days after it came in."

    def clean_member(self) -> int:
        return _person(self.cleaned_data["member"].strip())

    def clean_received(self) -> date:
        day: date = self.cleaned_data["received"]
        if day > timezone.localdate():
            raise forms.ValidationError("This day is still to come.")
        return day

    def clean_channel(self) -> int | None:
        return _id(self.cleaned_data["channel"])

    def clean_memory(self) -> int | None:
        return _id(self.cleaned_data["memory"])

    def received_at(self) -> datetime | None:
        """None for today: that is now."""
        day: date = self.cleaned_data["received"]
        return None if day == timezone.localdate() else _at(day)

    def due_at(self) -> datetime | None:
        """The end of the day."""
        day: date | None = self.cleaned_data["due"]
        return _at(day + timedelta(days=1)) - timedelta(seconds=1) if day else None

    def part(self) -> Part | None:
        """None for everything."""
        values = self.cleaned_data
        until: date | None = values["until"]
        found = Part(
            guild_id=number(values["server"]),
            channel_id=values["channel"],
            since=_at(values["since"]) if values["since"] else None,
            until=_at(until + timedelta(days=1)) if until else None,
            message_key=values["memory"],
        )
        return None if found == Part() else found


def _person(text: str) -> int:
    """Discord's id of who is meant: a member by name, anybody by id."""
    found = selectors.find_member(text)
    if found is not None:
        return found.user_id
    given = number(text.removeprefix("@"))
    if not given:
        raise forms.ValidationError("Nobody of that name has opted in. Give Discord's id of the person.")
    return given


def _at(day: date) -> datetime:
    """The beginning of a day where the viewer is."""
    return datetime.combine(day, time.min, tzinfo=timezone.get_current_timezone())


def _id(text: str) -> int | None:
    text = text.strip()
    if not text:
        return None
    found = number(text)
    if not found:
        raise forms.ValidationError("An id is a number.")
    return found
