"""Playground: ask, watch the answer come, and see what it was made of."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse, QueryDict, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.views.decorators.http import require_http_methods, require_POST

from memory import selectors
from memory.conf import get_config
from memory.errors import ConsentMissing, MusebotError
from memory.types import TurnDelta, TurnResult
from musebot_site.dashboard import pictures, records, sandbox, turns
from musebot_site.dashboard.http import Request, allowed_servers, page
from musebot_site.dashboard.questions import QuestionForm, history_json
from musebot_site.dashboard.turns import Setup, Turn

logger = logging.getLogger(__name__)

WENT_WRONG = "Something went wrong on the way. The log of the server says what; ask again."


@require_http_methods(["GET", "HEAD", "POST"])
def index(request: Request) -> HttpResponse:
    """The page; a question that is posted here (without JavaScript) is answered with the whole page."""
    setup = _setup(request)
    form, turn = QuestionForm(_values(request)), None
    if request.method == "POST" and form.is_valid():
        _require_start(setup)
        turn = Turn(setup, form.cleaned_data["question"], form.cleaned_data["history"])
        for _ in turn.events():
            pass
        form = QuestionForm(initial={"history": history_json(turn.history)})
    context: dict[str, Any] = {
        "setup": setup,
        "form": form,
        "history": turn.history if turn else (),
        "started": not setup.is_sandbox or sandbox.is_started(),
        "sandbox": selectors.guild(sandbox.GUILD_ID),
        "suggestions": turns.suggestions(setup),
        "memory_off": not get_config().memory_enabled,
        "no_model": not turns.has_model(),
        **(_trace(turn.result, turn) if turn and turn.result else {}),
    }
    return page(request, "playground/index.html", context, status=422 if form.errors else 200)


@require_POST
def stream(request: Request) -> HttpResponseBase:
    """The same as lines of JSON: ``{delta}`` for each piece, then ``{result}`` or ``{error}``."""
    form = QuestionForm(request.POST)
    if not form.is_valid():
        reason = next(iter(form.errors.values()))[0]
        return JsonResponse({"error": str(reason)}, status=422)
    setup = _setup(request)
    try:
        _require_start(setup)
    except MusebotError as error:
        return JsonResponse({"error": error.message}, status=error.status)
    turn = Turn(setup, form.cleaned_data["question"], form.cleaned_data["history"])
    # Proxies and middleware must neither hold back nor change the pieces.
    headers = {"X-Accel-Buffering": "no", "Content-Encoding": "identity"}
    return StreamingHttpResponse(_lines(turn, request), content_type="application/x-ndjson", headers=headers)


def _lines(turn: Turn, request: Request) -> Iterator[str]:
    try:
        for event in turn.events():
            if isinstance(event, TurnDelta):
                yield json.dumps({"delta": event.text}) + "\n"
            else:
                html = render_to_string("playground/_trace.html", _trace(event, turn), request=request)
                result = {
                    "text": event.text,
                    "kind": event.kind,
                    "history": history_json(turn.history),
                    "html": html,
                }
                yield json.dumps({"result": result}) + "\n"
    except MusebotError as error:
        yield json.dumps({"error": error.message}) + "\n"
    except Exception as error:  # the response has begun: whoever reads it has to be told in it
        # The type and place alone: the message of an exception may quote what was asked.
        name = type(error).__name__
        logger.error(
            "a turn of the playground broke off",
            exc_info=(RuntimeError, RuntimeError(name), error.__traceback__),
        )
        yield json.dumps({"error": WENT_WRONG}) + "\n"


def _values(request: Request) -> QueryDict | None:
    """What was posted; a suggestion that was pressed is the question."""
    if request.method != "POST":
        return None
    values = request.POST.copy()
    if suggestion := request.POST.get("suggestion"):
        values["question"] = suggestion
    return values


def _trace(result: TurnResult, turn: Turn) -> dict[str, Any]:
    return {
        "question": turn.question,
        "guild_id": None if turn.setup.is_sandbox else turn.setup.guild.id,
        "result": result,
        "timeline": pictures.timeline(result.timings),
        "tokens": sum(memory.tokens for memory in result.recall.memories),
    }


def _setup(request: Request) -> Setup:
    values = request.POST if request.method == "POST" else request.GET
    found = turns.setup(values, chosen=request.session.get("guild"), servers=allowed_servers(request))
    records.note(request, guild=found.guild.id)
    return found


def _require_start(setup: Setup) -> None:
    if setup.is_sandbox and not sandbox.is_started():
        raise ConsentMissing("The sandbox is not started: press “Start the sandbox” first.")


@require_POST
def sandbox_action(request: Request) -> HttpResponse:
    """Starts the sandbox, or erases it."""
    if request.POST.get("action") == "erase":
        asked = sandbox.erase(seconds=2.0)
        return redirect("dashboard:erasure", request_id=asked.id)
    sandbox.start()
    messages.success(
        request, "The sandbox is started. What you write in it is remembered until you erase it."
    )
    return redirect(f"/playground/?guild={sandbox.GUILD_ID}")
