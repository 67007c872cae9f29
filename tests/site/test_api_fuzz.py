"""The API against its own OpenAPI document: whatever is sent, there is no 5xx, and every answer is as documented."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from memory import access, blocks, capture, chat, consent, erasure, facts
from memory.models import Fact, Reply
from memory.rag import documents
from memory.types import ChannelInfo, GuildInfo, TurnRequest
from musebot_site.api.app import api
from musebot_site.wsgi import application
from tests.factories import incoming, person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("documents_folder")]

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "5"))
"""For each way of making them, by operation. Derandomised: a run finds what the last one found."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
METHODS = {"get", "post", "put", "delete", "patch"}
OPERATIONS = [
    (path, method)
    for path, methods in api.get_openapi_schema()["paths"].items()
    for method in methods
    if method in METHODS
]
GUILD = GuildInfo(1_300_000_000_000_000_001, "Harbour")
GENERAL = ChannelInfo(1_300_000_000_000_000_002, "general")


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """A server ends the connection of a request with it; here it is the test's."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@functools.cache
def described() -> Any:
    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)


def operation(path: str, method: str) -> Any:
    return described()[path][method]


@pytest.fixture
def known() -> dict[str, str]:
    """Ids of rows that there are, by the names that paths give them."""
    ada = person("ada")
    consent.give(person=ada, origin="discord")
    key = capture.record_message(incoming("The ferry sails at noon.", author=ada))
    facts.remember(ada.id, "Owns a dinghy", trusted=True)
    actor = blocks.Actor("model", ada.id, consent=consent.find(ada.id))
    blocks.append(blocks.human(ada.id), "Sails on Sundays.", actor=actor)
    version = documents.upload(name="faq.md", data=b"# FAQ\n\nThe office opens at nine.")
    chat.answer(TurnRequest("When does the ferry sail?", ada, GUILD, GENERAL, operator=True, origin="api"))
    gone = erasure.request(user_id=person("ben").id, origin="api")
    return {
        "user_id": str(ada.id),
        "memory_id": str(key),
        "fact_id": str(Fact.objects.get().id),
        "label": "human",
        "document_id": str(version.document_id),
        "trace_id": str(Reply.objects.get().id),
        "erasure_id": str(gone.id),
        "key_id": str(access.make_key(name="other")[0].id),
    }


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@pytest.mark.parametrize("way", ["as described", "as described, of rows there are", "otherwise"])
def test_no_request_is_answered_in_another_way_than_described(path, method, way, known):
    headers = {"Authorization": f"Bearer {access.make_key(name='fuzz')[1]}"}
    there = {name: value for name, value in known.items() if f"{{{name}}}" in path}
    if way == "as described, of rows there are" and not there:
        pytest.skip("names no row")
    mode = GenerationMode.NEGATIVE if way == "otherwise" else GenerationMode.POSITIVE
    values = {"path_parameters": there} if "of rows" in way else {}
    slow = (path, method) == ("/api/v1/erasures", "post")

    @settings(
        max_examples=min(EXAMPLES, 2) if slow else EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation(path, method).as_strategy(mode, **values))
    def send(case: Any) -> None:
        case.call_and_validate(headers=headers, checks=CHECKS)

    send()


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@pytest.mark.parametrize("authorization", [None, "Bearer ", "Bearer mb_wrong", "Basic eDp5", "é"])
def test_without_a_key_nothing_is_answered(client, path, method, authorization, known):
    address = path.format(**{**known, "label": "human"})
    headers = {"Authorization": authorization} if authorization is not None else {}
    response = client.generic(
        method.upper(), address, b"{}", content_type="application/json", headers=headers
    )
    assert response.status_code == 401
    assert set(response.json()) == {"error", "message", "details"}
    assert response.json()["error"] == "unauthorized" and response["WWW-Authenticate"] == "Bearer"
