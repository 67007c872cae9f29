"""Forms of the core-memory pages."""

from __future__ import annotations

from typing import Any

from django import forms

from memory import selectors
from memory.blocks.types import MAX_LIMIT, Block
from memory.models import Member
from memory.selectors import BlockFilters

LABELS = [("human", "Human"), ("working_context", "Working context")]


class BlockFilterForm(forms.Form):
    q = forms.CharField(label="Member or channel", required=False, max_length=200)
    label = forms.ChoiceField(label="Block", required=False, choices=[("", "Any"), *LABELS])

    def filters(self, guild_id: int | None) -> BlockFilters:
        values = self.cleaned_data
        return BlockFilters(label=values.get("label", ""), text=values.get("q", ""), guild_id=guild_id)


class BlockForm(forms.Form):
    """A block's text, with the version that was on the page."""

    value = forms.CharField(
        label="Text",
        required=False,
        strip=False,
        max_length=MAX_LIMIT * 2,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "true"}),
    )
    reason = forms.CharField(
        label="Why", required=False, max_length=300, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    version = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    @classmethod
    def of(cls, block: Block) -> BlockForm:
        return cls(initial={"value": block.value, "version": block.version})

    def with_version(self, version: int) -> BlockForm:
        """The same text, to be saved over another version."""
        return BlockForm(
            initial={
                "value": self.cleaned_data["value"],
                "reason": self.cleaned_data["reason"],
                "version": version,
            }
        )

    def clean_value(self) -> str:
        # Browsers send line ends as in mail.
        value: str = self.cleaned_data["value"]
        return value.replace("\r\n", "\n")


class LimitForm(forms.Form):
    limit = forms.IntegerField(label="Characters", min_value=1, max_value=MAX_LIMIT)


class PreviewForm(forms.Form):
    """For whom and where a prompt is put together."""

    member = forms.CharField(
        label="Who asks",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"list": "member-names", "placeholder": "Name or id"}),
    )
    channel = forms.ChoiceField(label="Where", required=False)
    question = forms.CharField(label="Question", required=False, max_length=2000)

    def __init__(self, *args: Any, guild_id: int | None, only: int | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.only = only
        self.channels = selectors.channels(guild_id) if guild_id is not None else []
        field = self.fields["channel"]
        assert isinstance(field, forms.ChoiceField)
        # What is known of a member in private is for nobody who may see some servers only.
        private = [("", "In private")] if only is None else []
        field.required = only is not None
        field.choices = [
            *private,
            *((str(row.discord_id), f"#{row.name or row.discord_id}") for row in self.channels),
        ]

    def clean_member(self) -> Member | None:
        text: str = self.cleaned_data["member"].strip()
        if not text:
            return None
        found = selectors.find_member(text, guild_id=self.only)
        if found is None:
            raise forms.ValidationError("Nobody of that name or id has opted in.")
        return found
