"""Ranked memories with their scores."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memory import retrieval
from memory.conf import get_config
from memory.errors import MusebotError
from memory.management import arguments
from memory.management.base import MemoryCommand
from memory.management.printing import memory_json, memory_lines, milliseconds
from memory.types import RecallQuery

MAX_TOKENS = 1_000_000


class Command(MemoryCommand):
    help = "Shows what is recalled for a query, best first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("query")
        parser.add_argument("--guild", type=arguments.guild_id, required=True, metavar="ID")
        parser.add_argument("--channel", metavar="ID", help="Only what the readers of this channel may see.")
        parser.add_argument("--user", type=arguments.user_id, metavar="ID", help="Who asks.")
        parser.add_argument("-k", type=int, metavar="N", help="How many at most.")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if not get_config().memory_enabled:
            raise CommandError("Long-term memory is off: set MUSEBOT_EMBEDDING_MODEL.")
        if not options["query"].strip():
            raise CommandError("Write a query.")
        if options["k"] is not None and not 1 <= options["k"] <= 1000:
            raise CommandError("-k takes a number from 1 to 1000.")
        try:
            guild = arguments.find_guild(options["guild"])
            channel = arguments.find_channel(guild, options["channel"]) if options["channel"] else None
        except MusebotError as error:
            raise CommandError(error.message) from error
        found = retrieval.recall(
            RecallQuery(
                text=options["query"],
                guild_id=guild.discord_id,
                channel_id=channel.discord_id if channel else None,
                asker_id=options["user"],
                top_k=options["k"],
                # A search, not a prompt: the number is the only limit.
                token_budget=MAX_TOKENS,
            ),
            patience=retrieval.PATIENCE,
        )
        if options["json"]:
            data = {
                "results": [memory_json(memory) for memory in found.memories],
                "left_out": [memory_json(memory) for memory in found.left_out],
                "degraded": found.degraded,
                "timings": dict(found.timings),
            }
            self.stdout.write(json.dumps(data, ensure_ascii=False, indent=2))
            return
        for line in memory_lines(found.memories):
            self.stdout.write(line)
        self.stdout.write(f"{len(found.memories)} memories in {milliseconds(found.timings)}")
        if found.degraded:
            self.stdout.write(f"Not complete: {found.degraded}")
