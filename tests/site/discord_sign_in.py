"""A browser's way through Discord's page, for tests of what comes after it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from django.http import HttpResponse
from django.test import Client
from pydantic import SecretStr

from tests.simulators.discord import DiscordSim


def configure(settings: Any, sim: DiscordSim, **values: Any) -> None:
    """Members' sign-in, with the simulator for Discord."""
    discord = settings.MUSEBOT.discord.model_copy(
        update={
            "api_base": sim.info["api_base"],
            "client_id": sim.info["client_id"],
            "client_secret": SecretStr(sim.info["client_secret"]),
            **values,
        }
    )
    settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"discord": discord})


def begin(client: Client, *, target: str = "") -> str:
    """Presses the button; returns the address of Discord's page."""
    response = client.post("/sign-in/discord/", {"next": target})
    assert response.status_code == 302, response.content
    return response["Location"]


def agree(address: str, user_id: str | None) -> str:
    """Agrees on Discord's page as somebody, or refuses for None; returns the address that it leads back to."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    page = httpx.get(address, follow_redirects=False)
    if page.status_code == 302:
        return page.headers["Location"]
    form = {**query, "user": user_id} if user_id else {**query, "deny": "1"}
    return httpx.post(address, data=form, follow_redirects=False).headers["Location"]


def come_back(client: Client, address: str) -> HttpResponse:
    parts = urlsplit(address)
    return client.get(f"{parts.path}?{parts.query}")  # type: ignore[return-value]


def sign_in(client: Client, user_id: str | None, *, target: str = "") -> HttpResponse:
    """All of it; the answer is the redirect to where one ends up."""
    return come_back(client, agree(begin(client, target=target), user_id))
