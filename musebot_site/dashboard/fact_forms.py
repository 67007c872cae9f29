"""What people type on the page of facts, checked."""

from __future__ import annotations

from typing import Any

from django import forms

from memory import selectors
from memory.conf import get_config
from memory.models import Fact, Member
from memory.selectors import FACT_TABS, FactFilters


class FactFilterForm(forms.Form):
    """The filters of the facts, as they stand in the address."""

    tab = forms.ChoiceField(required=False, choices=[(tab, tab) for tab in FACT_TABS])
    q = forms.CharField(label="Search", required=False, max_length=400)
    member = forms.CharField(
        required=False, max_length=200, widget=forms.TextInput(attrs={"list": "member-names"})
    )
    source = forms.ChoiceField(
        required=False, choices=[("", "Any"), (Fact.Source.AUTO, "found"), (Fact.Source.MANUAL, "by hand")]
    )

    def __init__(self, *args: Any, only: int | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.only = only

    def clean_member(self) -> Member | None:
        text: str = self.cleaned_data["member"].strip()
        if not text:
            return None
        found = selectors.find_member(text, guild_id=self.only)
        if found is None:
            raise forms.ValidationError("Nobody of that name or id has opted in.")
        return found

    def filters(self, guild_id: int | None) -> FactFilters:
        values = self.cleaned_data
        member: Member | None = values.get("member")
        return FactFilters(
            tab=values.get("tab") or "active",
            text=values.get("q", "").strip(),
            user_id=member.user_id if member else None,
            guild_id=guild_id,
            source=values.get("source", ""),
        )


class FactForm(forms.Form):
    """A new fact about a member."""

    member = forms.CharField(
        label="About",
        max_length=200,
        widget=forms.TextInput(attrs={"list": "member-names", "autocomplete": "off"}),
    )
    text = forms.CharField(
        label="Fact",
        max_length=4000,
        help_text="One short sentence without a subject, such as “Prefers answers in Spanish”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_member(self) -> Member:
        found = selectors.find_member(self.cleaned_data["member"])
        if found is None:
            raise forms.ValidationError("Nobody of that name or id has opted in.")
        return found

    def clean_text(self) -> str:
        text: str = self.cleaned_data["text"]
        limit = get_config().facts.max_fact_length
        if len(text) > limit:
            raise forms.ValidationError(f"A fact has at most {limit} characters; this one has {len(text)}.")
        return text
