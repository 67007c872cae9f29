"""A server that answers as Discord does where histories are read, and limits nothing. Runs as a process of its own.

``python -m memory.benchmarks.history_server MESSAGES CHANNELS THREADS PEOPLE`` prints its port.
"""

from __future__ import annotations

import json
import random
import socket
import sys
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

BOT = 1_100_000_000_000_000_001
GUILD = 1_100_000_000_000_000_002
FIRST_CHANNEL = 1_200_000_000_000_000_000
FIRST_PERSON = 1_150_000_000_000_000_000
PERMISSIONS = (1 << 10) | (1 << 16) | (1 << 20)
SECONDS_APART = 37
DISCORD_EPOCH = 1_420_070_400
WORDS = [
    "harbour",
    "boat",
    "sail",
    "rope",
    "anchor",
    "storm",
    "lighthouse",
    "captain",
    "crew",
    "deck",
    "engine",
    "map",
    "coast",
    "island",
    "tide",
    "wave",
    "gull",
    "fish",
    "net",
    "bread",
    "coffee",
    "evening",
    "morning",
    "market",
    "garden",
    "letter",
    "music",
    "guitar",
    "concert",
    "ticket",
    "train",
    "station",
    "mountain",
    "river",
    "bridge",
    "library",
]


def person_id(number: int) -> int:
    return FIRST_PERSON + number * 4_194_304


class World:
    """Channels with their messages, made when they are asked for: the same every time."""

    def __init__(self, messages: int, channels: int, threads: int, people: int) -> None:
        self.people = people
        self.channels = [FIRST_CHANNEL + number for number in range(channels)]
        self.threads = [FIRST_CHANNEL + 1_000_000 + number for number in range(threads)]
        places = self.channels + self.threads
        # Half of all in the channels, or in the few threads there are.
        share = (messages // 2 // channels) if threads else messages // channels
        sizes = [share] * channels + [(messages - share * channels) // max(threads, 1)] * threads
        sizes[-1] += messages - sum(sizes)
        self.sizes = dict(zip(places, sizes, strict=True))
        self.start = 1_700_000_000
        self.requests = 0

    def newest(self, place: int) -> str | None:
        return str(self.id(place, self.sizes[place] - 1)) if self.sizes[place] else None

    def id(self, place: int, number: int) -> int:
        since_epoch = self.start + number * SECONDS_APART - DISCORD_EPOCH
        return ((since_epoch * 1000) << 22) + (place % 4_000_000)

    def page(self, place: int, before: int | None, limit: int) -> list[dict[str, Any]]:
        end = self.sizes[place]
        if before is not None:
            seconds = (before >> 22) / 1000 + DISCORD_EPOCH - self.start
            end = max(min(end, round(seconds / SECONDS_APART)), 0)
        return [self.message(place, number) for number in range(end - 1, max(end - 1 - limit, -1), -1)]

    def message(self, place: int, number: int) -> dict[str, Any]:
        id = self.id(place, number)
        chance = random.Random(id)
        author = chance.randrange(self.people)
        moment = datetime.fromtimestamp(self.start + number * SECONDS_APART, UTC)
        return {
            "id": str(id),
            "type": 0,
            "channel_id": str(place),
            "author": {
                "id": str(person_id(author)),
                "username": f"person{author}",
                "global_name": f"Person {author}",
                "discriminator": "0",
                "avatar": None,
            },
            "content": " ".join(chance.choices(WORDS, k=chance.randint(4, 20))),
            "timestamp": moment.isoformat(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [],
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "pinned": False,
            "flags": 0,
            "components": [],
        }

    def channel(self, place: int) -> dict[str, Any]:
        base = {"id": str(place), "name": f"c{place % 1_000_000}", "last_message_id": self.newest(place)}
        if place in self.sizes and place >= FIRST_CHANNEL + 1_000_000:
            return {**base, "type": 11, "parent_id": str(self.channels[place % len(self.channels)])}
        return {**base, "type": 0, "topic": None, "permission_overwrites": []}


def application(world: World) -> web.Application:
    def answer(value: Any) -> web.Response:
        return web.Response(body=json.dumps(value).encode(), content_type="application/json")

    async def me(request: web.Request) -> web.Response:
        return answer({"id": str(BOT), "username": "musebot"})

    async def guild(request: web.Request) -> web.Response:
        role = {"id": str(GUILD), "name": "@everyone", "permissions": str(PERMISSIONS)}
        return answer({"id": str(GUILD), "name": "Benchmark", "owner_id": "1", "roles": [role]})

    async def member(request: web.Request) -> web.Response:
        return answer({"roles": []})

    async def channels(request: web.Request) -> web.Response:
        return answer([world.channel(one) for one in world.channels])

    async def threads(request: web.Request) -> web.Response:
        return answer({"threads": [world.channel(one) for one in world.threads], "members": []})

    async def archived(request: web.Request) -> web.Response:
        return answer({"threads": [], "members": [], "has_more": False})

    async def messages(request: web.Request) -> web.Response:
        world.requests += 1
        before = request.query.get("before")
        page = world.page(
            int(request.match_info["channel"]), int(before) if before else None, int(request.query["limit"])
        )
        return answer(page)

    async def requests(request: web.Request) -> web.Response:
        return answer({"pages": world.requests})

    made = web.Application()
    base = f"/guilds/{GUILD}"
    made.router.add_get("/users/@me", me)
    made.router.add_get(base, guild)
    made.router.add_get(f"{base}/members/{BOT}", member)
    made.router.add_get(f"{base}/channels", channels)
    made.router.add_get(f"{base}/threads/active", threads)
    made.router.add_get("/channels/{channel}/threads/archived/{kind}", archived)
    made.router.add_get("/channels/{channel}/users/@me/threads/archived/private", archived)
    made.router.add_get("/channels/{channel}/messages", messages)
    made.router.add_get("/requests", requests)
    return made


def main() -> None:
    world = World(*map(int, sys.argv[1:5]))

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    web.run_app(application(world), sock=listening, print=None, access_log=None)


if __name__ == "__main__":
    main()
