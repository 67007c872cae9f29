"""Behind a proxy that ends TLS: who asks, and that it came over HTTPS."""

from __future__ import annotations

from typing import Any

import pytest
from waitress.proxy_headers import proxy_headers_middleware

from musebot_site.management.commands.serve import proxy_options

FORWARDED = {"HTTP_X_FORWARDED_FOR": "6.6.6.6, 198.51.100.7", "HTTP_X_FORWARDED_PROTO": "https"}


def passed_on(options: dict[str, Any], peer: str = "127.0.0.1") -> dict[str, Any]:
    """What the application gets."""
    # The server calls it by another name than the option.
    options = {
        name.replace("_proxy_headers", "") if "clear" in name else name: it for name, it in options.items()
    }
    environ = {"REMOTE_ADDR": peer, "REMOTE_HOST": peer, "wsgi.url_scheme": "http", "SERVER_NAME": "x"}
    found: dict[str, Any] = {}
    proxy_headers_middleware(lambda given, _: found.update(given), **options)(
        {**environ, "SERVER_PORT": "8000", "HTTP_HOST": "x", **FORWARDED}, lambda *_: None
    )
    return found


def seen(options: dict[str, Any], peer: str = "127.0.0.1") -> tuple[str, str]:
    """(address, scheme) of it."""
    found = passed_on(options, peer)
    return found["REMOTE_ADDR"], found["wsgi.url_scheme"]


@pytest.fixture
def https(settings: Any) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")


@pytest.mark.usefixtures("https")
def test_a_proxy_on_this_machine_says_who_asks_and_how() -> None:
    assert seen(proxy_options("127.0.0.1")) == ("198.51.100.7", "https")


@pytest.mark.usefixtures("https")
def test_on_an_address_that_others_reach_nobody_names_another_as_the_one_who_asks() -> None:
    assert seen(proxy_options("0.0.0.0"), peer="203.0.113.5") == ("203.0.113.5", "https")


def test_without_a_proxy_its_headers_are_worth_nothing() -> None:
    assert seen(proxy_options("127.0.0.1")) == ("127.0.0.1", "http")


def test_that_it_was_passed_on_can_still_be_told() -> None:
    assert "HTTP_X_FORWARDED_FOR" in passed_on(proxy_options("127.0.0.1"))
