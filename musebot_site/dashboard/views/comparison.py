"""One question, two settings, side by side: what each would recall. Nobody is answered and nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpResponse, QueryDict
from django.views.decorators.http import require_http_methods

from memory import retrieval
from memory.conf import get_config
from memory.types import Recall, RecallQuery
from musebot_site.dashboard import pictures, records, turns
from musebot_site.dashboard.http import Request, allowed_servers, page
from musebot_site.dashboard.turns import Setup

SIDES = ("left", "right")
MOST = 50


class QuestionForm(forms.Form):
    question = forms.CharField(label="Question", max_length=2000, strip=True)


class SideForm(forms.Form):
    """What may differ from the other side."""

    top_k = forms.IntegerField(label="Memories at most", min_value=1, max_value=MOST, required=False)
    method = forms.ChoiceField(
        label="Found by", choices=[("", "Meaning and words"), ("words", "Words alone")], required=False
    )


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two settings, and what it recalls."""

    name: str
    setup: Setup
    form: SideForm
    found: Recall | None = None
    alone: int = 0
    """Memories that the other side does not recall."""

    @property
    def timeline(self) -> Any:
        return pictures.timeline(self.found.timings) if self.found else None


@require_http_methods(["GET", "HEAD", "POST"])
def index(request: Request) -> HttpResponse:
    """The form; posted, with both results."""
    values = request.POST if request.method == "POST" else request.GET
    posted = request.method == "POST"
    form = QuestionForm(request.POST if posted else None, initial={"question": values.get("question", "")})
    sides = [_side(request, values, name, posted=posted) for name in SIDES]
    records.note(request, guild=sides[0].setup.guild.id)
    valid = all([form.is_valid(), *(side.form.is_valid() for side in sides)]) if posted else False
    if valid and get_config().memory_enabled:
        sides = _compared([_recalled(side, form.cleaned_data["question"]) for side in sides])
    context = {
        "form": form,
        "sides": sides,
        "setup": sides[0].setup,
        "shared": len(_keys(sides[0]) & _keys(sides[1])),
        "asked": valid,
        "memory_off": not get_config().memory_enabled,
    }
    return page(request, "playground/compare.html", context, status=422 if posted and not valid else 200)


def _side(request: Request, values: QueryDict, name: str, *, posted: bool) -> Side:
    own = QueryDict(mutable=True)
    own["guild"] = values.get("guild", "")
    for field in ("channel", "asker"):
        own[field] = values.get(f"{name}-{field}", values.get(field, ""))
    found = turns.setup(own, chosen=request.session.get("guild"), servers=allowed_servers(request))
    return Side(name, found, SideForm(values if posted else None, prefix=name))


def _recalled(side: Side, question: str) -> Side:
    setup, chosen = side.setup, side.form.cleaned_data
    query = RecallQuery(
        text=question,
        guild_id=setup.guild.id,
        channel_id=setup.channel.discord_id if setup.channel else None,
        asker_id=setup.asker.user_id if setup.asker else None,
        top_k=chosen["top_k"],
        use_vectors=chosen["method"] != "words",
    )
    return Side(side.name, setup, side.form, retrieval.recall(query))


def _compared(sides: list[Side]) -> list[Side]:
    return [
        Side(one.name, one.setup, one.form, one.found, len(_keys(one) - _keys(other)))
        for one, other in zip(sides, reversed(sides), strict=True)
    ]


def _keys(side: Side) -> set[int]:
    return {memory.key for memory in side.found.memories} if side.found else set()
