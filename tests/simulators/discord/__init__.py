"""A local Discord for end-to-end tests: REST, gateway, CDN, and a control API to play the users.

from tests.simulators.discord import DiscordSim

with DiscordSim.start("--rate-profile", "fast") as sim:
    ...
"""

from .client import DiscordSim

__all__ = ["DiscordSim"]
