"""The filters of the audit, as they stand in the address."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils import timezone

from memory import audit, selectors
from memory.selectors import AuditFilters
from musebot_site.dashboard.http import number
from musebot_site.dashboard.records import member_id


def _day(label: str) -> forms.DateField:
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return forms.DateField(label=label, required=False, widget=widget)


class AuditFilterForm(forms.Form):
    who = forms.CharField(
        label="Who",
        required=False,
        max_length=150,
        widget=forms.TextInput(attrs={"placeholder": "Account", "list": "accounts"}),
    )
    action = forms.ChoiceField(required=False)
    member = forms.CharField(
        label="About member",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"placeholder": "Name or id"}),
    )
    object = forms.CharField(
        label="Object", required=False, max_length=64, widget=forms.TextInput(attrs={"placeholder": "Id"})
    )
    result = forms.ChoiceField(
        required=False, choices=[("", "Any"), ("ok", "done"), ("other", "refused or failed")]
    )
    since = _day("From")
    until = _day("To")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["action"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "Any"), *((code, in_words(code)) for code in selectors.audit_actions())]

    def clean_who(self) -> str:
        """An account by its name; an actor as it is written otherwise."""
        text: str = self.cleaned_data["who"].strip()
        account = User.objects.filter(username=text).first() if text else None
        return audit.admin(account.pk) if account else text

    def clean_member(self) -> str:
        """The pseudonym of a member. An id serves as well when nothing of them is stored any more."""
        text: str = self.cleaned_data["member"].strip()
        if not text:
            return ""
        found = selectors.find_member(text)
        user_id = found.user_id if found else number(text.removeprefix("@"))
        if user_id is None:
            raise forms.ValidationError(
                "Nobody of that name has opted in. An id finds those who were erased."
            )
        return member_id(user_id)

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("member") and self.cleaned_data.get("object"):
            self.add_error("object", "Name a member or an object, not both.")
        return self.cleaned_data

    def filters(self, guild_id: int | None) -> AuditFilters:
        values = self.cleaned_data
        until = values.get("until")
        return AuditFilters(
            actor=values.get("who", ""),
            action=values.get("action", ""),
            object_id=values.get("member") or values.get("object", "").strip(),
            guild_id=guild_id,
            result=values.get("result", ""),
            since=_midnight(values["since"]) if values.get("since") else None,
            until=_midnight(until + timedelta(days=1)) if until else None,
        )


def in_words(code: str) -> str:
    """``memory.viewed`` → ``memory viewed``, ``role.granted.viewer`` → ``role granted: viewer``."""
    what, _, more = code.partition(".")
    done, _, which = more.partition(".")
    words = f"{what} {done}: {which}" if which else f"{what} {done}"
    return words.strip().replace("_", " ")


def _midnight(day: Any) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
