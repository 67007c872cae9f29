"""Links to attachments expire; the message is asked for new ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from botrunner.refreshing import fresh_attachments
from tests.simulators.discord import DiscordSim


@pytest.fixture
def sim(settings) -> Iterator[DiscordSim]:
    with DiscordSim.start("--rate-profile", "fast") as sim:
        discord = settings.MUSEBOT.discord.model_copy(
            update={"token": SecretStr(sim.token), "api_base": sim.api_base}
        )
        settings.MUSEBOT = settings.MUSEBOT.model_copy(update={"discord": discord})
        yield sim
        assert not sim.requests()["unimplemented"]


def test_an_attachment_has_a_new_link(sim: DiscordSim) -> None:
    ada = sim.user("ada")
    guild = sim.guild("Harbour", members=[ada], channels=["general"])
    channel = guild["channels"]["general"]
    said = sim.say(channel, ada, "look", attachments=[{"filename": "a.txt", "text": "hello"}])
    [before] = fresh_attachments(int(channel), int(said["id"]))
    sim.post("/clock", advance=25 * 3600)
    [after] = fresh_attachments(int(channel), int(said["id"]))
    assert (before.filename, before.id) == ("a.txt", after.id)
    assert before.url != after.url


def test_a_message_that_is_gone_has_none(sim: DiscordSim) -> None:
    ada = sim.user("ada")
    guild = sim.guild("Harbour", members=[ada], channels=["general"])
    channel = guild["channels"]["general"]
    said = sim.say(channel, ada, "look")
    sim.call("DELETE", f"/channels/{channel}/messages/{said['id']}")
    assert fresh_attachments(int(channel), int(said["id"])) == ()
