"""What is typed into the pages of the settings."""

from __future__ import annotations

from typing import Any

from django import forms

from memory import selectors
from memory.access import SCOPES
from memory.conf import ModelRef
from memory.embedding.keeping import KEEP, MOST_DAYS
from memory.errors import ConfigurationError
from memory.models import Guild
from musebot_site.config import parse_model

MOST_BOXES = 12
"""Servers up to which each has a box to tick; more of them stand in a list."""


class KeyForm(forms.Form):
    """A new key of the API."""

    name = forms.CharField(
        label="What it is for",
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "Backups at home"}),
    )
    scopes = forms.MultipleChoiceField(
        label="What it may do",
        choices=[(name, f"{name} – {what}") for name, what in SCOPES.items()],
        widget=forms.CheckboxSelectMultiple,
        initial=["read"],
        error_messages={"required": "Choose at least one thing that it may do."},
    )
    servers = forms.MultipleChoiceField(
        label="Only on these servers",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None chosen: everywhere. A key that is limited sees memories, replies and documents of these servers, and "
        "neither members as a whole nor jobs, erasures and keys.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["servers"]
        assert isinstance(field, forms.MultipleChoiceField)
        choices = [(str(row.id), row.name) for row in selectors.guilds() if row.kind == Guild.Kind.GUILD]
        if len(choices) > MOST_BOXES:
            field.widget = forms.SelectMultiple(attrs={"size": MOST_BOXES // 2})
        field.choices = choices

    def guild_ids(self) -> list[int] | None:
        """Discord's ids of the servers that were chosen; None for no limit."""
        return [int(one) for one in self.cleaned_data["servers"]] or None


class EstimateForm(forms.Form):
    """A model whose vectors somebody thinks of building."""

    model = forms.CharField(
        label="Model to measure",
        max_length=200,
        help_text="ollama:NAME, openai:NAME or local. It embeds some sentences of ours; nothing that members wrote is sent.",
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "ollama:nomic-embed-text"}
        ),
    )

    def clean_model(self) -> ModelRef:
        try:
            found = parse_model(self.cleaned_data["model"], "The model")
        except ConfigurationError as error:
            raise forms.ValidationError(error.message) from error
        if found is None:
            raise forms.ValidationError("Name a model.")
        return found


class KeepForm(forms.Form):
    days = forms.IntegerField(label="Days", min_value=1, max_value=MOST_DAYS, initial=KEEP.days)
