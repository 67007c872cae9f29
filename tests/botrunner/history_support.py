"""Steps that tests of reading histories share. The simulated Discord runs as a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest import mock

from django.conf import settings
from django.utils import timezone
from pydantic import SecretStr

from botrunner import history
from memory import consent
from memory.capture import backfill
from memory.models import OutboxEntry, Scan, ScanChannel
from memory.types import GuildInfo, Person
from tests.simulators.discord import DiscordSim


@contextmanager
def configured(sim: DiscordSim, **options: Any) -> Iterator[None]:
    """The configuration of a worker that talks to this simulator."""
    discord = settings.MUSEBOT.discord.model_copy(
        update={"token": SecretStr(sim.token), "api_base": sim.api_base, **options}
    )
    changed = settings.MUSEBOT.model_copy(update={"discord": discord})
    with mock.patch.object(settings, "MUSEBOT", changed), mock.patch("memory.outbox._send"):
        yield


def opt_in(*user_ids: str | int, guilds: list[str | int], name: str = "member") -> list[Scan]:
    """Members opt in and ask for their histories; their cohort is closed at once."""
    infos = [GuildInfo(id=int(guild)) for guild in guilds]
    for user_id in user_ids:
        person = Person(id=int(user_id), username=name, display_name=name.title())
        consent.give(person=person, origin="discord")
        backfill.request(user_id=int(user_id), guilds=infos)
    close_cohorts()
    return list(Scan.objects.order_by("id"))


def close_cohorts() -> None:
    Scan.objects.filter(state=Scan.State.GATHERING).update(begins_at=timezone.now())


def turn() -> None:
    """One turn of reading, as the worker takes it, whatever is due when."""
    now = timezone.now() - timedelta(seconds=1)
    ScanChannel.objects.filter(state=ScanChannel.State.WAITING).update(due_at=now)
    Scan.objects.update(due_at=now)
    entry = OutboxEntry.objects.get(kind=backfill.HISTORY)
    OutboxEntry.objects.filter(pk=entry.pk).update(state="running", lease="test")
    entry.refresh_from_db()
    history.read_entries([entry])


def read_all(most: int = 30) -> None:
    """Turns until nothing is left to read."""
    for _ in range(most):
        if not OutboxEntry.objects.filter(kind=backfill.HISTORY).exists():
            return
        close_cohorts()
        turn()
    raise AssertionError(
        f"not read after {most} turns: {list(ScanChannel.objects.values('name', 'state', 'error_code'))}"
    )


def page_requests(sim: DiscordSim) -> list[tuple[str, str]]:
    """Pages that were handed out: (path, position)."""
    log = sim.get("/requests/log", match="GET /channels/*/messages", limit=1_000_000)["log"]
    pages = [one for one in log if one["path"].endswith("/messages") and one["status"] == 200]
    return [
        (one["path"], str(one["query"].get("before") or one["query"].get("after") or "")) for one in pages
    ]
