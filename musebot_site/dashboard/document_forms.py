"""What people type into the pages of documents and their evaluation, checked."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core import signing

from memory.selectors import DocumentFilters, GuildRow

SALT = "documents.staged"
STAGED_SECONDS = 3000
"""Less than after what time the orphan scan removes files without a row."""


class DocumentFilterForm(forms.Form):
    q = forms.CharField(required=False, max_length=200)
    state = forms.ChoiceField(
        required=False,
        choices=[
            ("", "Any"),
            ("ready", "ready"),
            ("busy", "being read"),
            ("failed", "refused"),
            ("off", "switched off"),
        ],
    )

    def filters(self, guild_id: int | None) -> DocumentFilters:
        values = self.cleaned_data
        return DocumentFilters(
            text=values.get("q", "").strip(), guild_id=guild_id, state=values.get("state", "")
        )


class ScopeForm(forms.Form):
    """Where a document answers."""

    where = forms.ChoiceField(
        choices=[("everywhere", "Everywhere"), ("guilds", "Only on")], initial="everywhere"
    )
    guild = forms.MultipleChoiceField(required=False)

    def __init__(self, *args: Any, guilds: list[GuildRow], everywhere: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not everywhere:
            where = self.fields["where"]
            assert isinstance(where, forms.ChoiceField)
            where.choices, where.initial = [("guilds", "Only on")], "guilds"
        field = self.fields["guild"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(str(row.id), row.name) for row in guilds]

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if values.get("where") == "guilds" and not values.get("guild"):
            self.add_error("guild", "Choose at least one server, or everywhere.")
        return values

    def guild_ids(self) -> list[int] | None:
        if self.cleaned_data["where"] == "everywhere":
            return None
        return [int(value) for value in self.cleaned_data["guild"]]


class QuestionForm(forms.Form):
    """A question of the evaluation."""

    question = forms.CharField(max_length=400)
    source = forms.CharField(
        required=False,
        max_length=300,
        label="Expected document",
        help_text="Leave it empty for a question that nothing should be found for.",
    )
    contains = forms.CharField(
        required=False,
        max_length=400,
        label="Words of the passage",
        help_text="Optional: a passage without them does not count as found.",
    )


def staged(stored_name: str, name: str, guild_ids: list[int] | None) -> str:
    """A file that waits for a decision, so that a form can name it and nobody can name another."""
    return signing.dumps([stored_name, name, guild_ids], salt=SALT)


def unstaged(token: str) -> tuple[str, str, list[int] | None]:
    """Raises ``signing.BadSignature`` for what is not ours or too old."""
    stored_name, name, guild_ids = signing.loads(token, salt=SALT, max_age=STAGED_SECONDS)
    return str(stored_name), str(name), guild_ids
