"""The API at ``/api/v1/``: its routers, how errors look, and its documentation."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable
from typing import Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.urls import URLPattern, URLResolver
from ninja import NinjaAPI, Router, Swagger
from ninja.errors import AuthenticationError, HttpError, ValidationError

from memory.errors import MusebotError
from musebot_site.api import (
    asking,
    blocks,
    documents,
    erasures,
    facts,
    jobs,
    keys,
    members,
    memories,
    records,
    replies,
)

logger = logging.getLogger(__name__)

DESCRIPTION = """What the dashboard does, for programs. Send `Authorization: Bearer KEY`; keys are made in the dashboard or with
`python manage.py createapikey NAME`. Ids of Discord are strings. Errors are `{error, message, details}` with a stable code."""


class Api(NinjaAPI):
    """Ninja's, with every refusal as JSON."""

    def _get_urls(self) -> list[URLResolver | URLPattern]:
        patterns: list[URLResolver | URLPattern] = super()._get_urls()
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                pattern.callback = _recorded(_json_refusal(pattern.callback))
        return patterns


def _recorded(view: Callable[..., Any]) -> Callable[..., Any]:
    """Writes the audit before anything is sent: what cannot be recorded is not shown."""

    @functools.wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        response = view(request, *args, **kwargs)
        records.write(request, kwargs, response)
        return response

    return wrapped


def _json_refusal(view: Callable[..., Any]) -> Callable[..., Any]:
    """Ninja answers a method that a path does not have in plain text; everything here is JSON."""

    @functools.wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        response = view(request, *args, **kwargs)
        if isinstance(response, HttpResponseNotAllowed):
            refusal = problem(request, 405, "method_not_allowed", f"This address takes {response['Allow']}.")
            refusal["Allow"] = response["Allow"]
            return refusal
        return response

    return wrapped


class Documentation(Swagger):
    """Ninja's page with the scripts that are served from here; it would take them from elsewhere."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        shown = {**self.settings, "url": self.get_openapi_url(api, kwargs)}
        return render(request, self.template, {"swagger_settings": json.dumps(shown), "api": api})


api = Api(
    title="Musebot",
    version="1",
    description=DESCRIPTION,
    urls_namespace="api",
    docs=Documentation(settings={"persistAuthorization": False, "validatorUrl": None}),
)
for module in (asking, documents, memories, members, blocks, facts, erasures, jobs, replies, keys):
    api.add_router("", module.router)

elsewhere = Router()
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


@elsewhere.api_operation(METHODS, "/{path:rest}", include_in_schema=False)
def nothing_here(request: HttpRequest, rest: str) -> None:
    raise Http404


@elsewhere.api_operation(METHODS, "/", include_in_schema=False)
def nothing_at_the_root(request: HttpRequest) -> None:
    raise Http404


api.add_router("", elsewhere)


def problem(request: HttpRequest, status: int, error: str, message: str, details: Any = None) -> HttpResponse:
    response = api.create_response(
        request, {"error": error, "message": message, "details": details or {}}, status=status
    )
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    if status == 503:
        response["Retry-After"] = "5"
    return response


@api.exception_handler(MusebotError)
def refused(request: HttpRequest, error: MusebotError) -> HttpResponse:
    return problem(request, error.status, error.code, error.message, error.details)


@api.exception_handler(ValidationError)
def not_valid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Names the fields, and does not repeat what was sent."""
    fields = [
        {
            "field": _field(each["loc"]),
            "message": each["msg"].removeprefix("Value error, "),
            "type": each["type"],
        }
        for each in error.errors
    ]
    first = fields[0] if fields else {"field": "", "message": "not of the form that is asked for"}
    message = f"{first['field']}: {first['message']}" if first["field"] else first["message"]
    return problem(request, 422, "invalid_input", message, {"fields": fields})


@api.exception_handler(AuthenticationError)
def not_known(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return problem(request, 401, "unauthorized", "Send a valid key: Authorization: Bearer KEY.")


@api.exception_handler(HttpError)
def other_refusal(request: HttpRequest, error: HttpError) -> HttpResponse:
    codes = {400: "invalid_json", 413: "too_large", 429: "too_many_requests"}
    return problem(request, error.status_code, codes.get(error.status_code, "refused"), str(error))


@api.exception_handler(SuspiciousOperation)
def not_taken(request: HttpRequest, error: SuspiciousOperation) -> HttpResponse:
    if isinstance(error, RequestDataTooBig):
        return problem(request, 413, "too_large", "The body is too large.")
    return problem(request, 400, "refused", "This request is not of the form that is expected.")


@api.exception_handler(Http404)
def not_there(request: HttpRequest, error: Http404) -> HttpResponse:
    return problem(request, 404, "not_found", "There is no such address.")


@api.exception_handler(Exception)
def failed(request: HttpRequest, error: Exception) -> HttpResponse:
    # The type and place alone: the message of an exception may quote what was sent.
    name = type(error).__name__
    logger.error("an API request failed", exc_info=(RuntimeError, RuntimeError(name), error.__traceback__))
    return problem(request, 500, "error", "Something went wrong here. The log says where.")


def _field(location: Any) -> str:
    parts = [str(part) for part in location]
    if parts and parts[0] in {"body", "query", "path", "form", "header"}:
        parts = parts[1:]
    # Ninja puts the name of the argument first where the whole body is one object.
    if len(parts) > 1 and parts[0] in {"body", "filters"}:
        parts = parts[1:]
    return ".".join(parts)
