"""A question to the Playground, and the conversation that its page holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django import forms

from memory.types import Utterance

MAX_QUESTION = 2000
MAX_HISTORY = 40


class QuestionForm(forms.Form):
    """One question, with the conversation that the page holds."""

    question = forms.CharField(
        max_length=MAX_QUESTION, widget=forms.Textarea(attrs={"rows": 2, "placeholder": "Ask something…"})
    )
    history = forms.CharField(required=False, max_length=200_000, widget=forms.HiddenInput)

    def clean_history(self) -> tuple[Utterance, ...]:
        text: str = self.cleaned_data["history"]
        if not text:
            return ()
        try:
            return tuple(_utterance(entry) for entry in json.loads(text)[-MAX_HISTORY:])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise forms.ValidationError(
                "The conversation of this page is damaged. Start a new one."
            ) from error


def _utterance(entry: dict[str, Any]) -> Utterance:
    role, name, text = entry["role"], str(entry["name"])[:200], str(entry["text"])[:20_000]
    if role not in {"user", "assistant"}:
        raise ValueError(role)
    known = entry.get("id")
    return Utterance(role=role, name=name, text=text, discord_message_id=int(known) if known else None)


def history_json(history: Sequence[Utterance]) -> str:
    """The conversation as the page holds it. Ids are strings: JavaScript would round them."""
    return json.dumps(
        [
            {
                "role": entry.role,
                "name": entry.name,
                "text": entry.text,
                **({"id": str(entry.discord_message_id)} if entry.discord_message_id else {}),
            }
            for entry in history[-MAX_HISTORY:]
        ],
        ensure_ascii=False,
    )
