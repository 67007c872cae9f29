"""``manage.py runbot``: the Discord bot in the foreground."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.checks import ERROR
from django.core.management.base import BaseCommand, CommandError

from memory.checks import check_models
from memory.conf import get_config


class Command(BaseCommand):
    help = "Runs the Discord bot in the foreground; ends cleanly on SIGINT and SIGTERM."
    # All of Django's checks would load the dashboard, which the bot has no use for; see ``handle``.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--shard-ids", metavar="0,1", help="the shards that this process serves")
        parser.add_argument(
            "--shard-count", type=int, metavar="N", help="into how many shards the bot is divided"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Imported here, so that no other command loads discord.py.
        from botrunner.supervision import CannotRun, Shards, run

        for found in check_models():
            if found.level >= ERROR:
                raise CommandError(f"{found.msg} {found.hint or ''}")
        shards = Shards(options["shard_count"], parse_shards(options["shard_ids"], options["shard_count"]))
        try:
            ended = asyncio.run(run(get_config(), shards))
        except CannotRun as error:
            # Under `up` this status says that starting again would not help.
            raise CommandError(
                str(error), returncode=78 if os.environ.get("MUSEBOT_SUPERVISED") else 1
            ) from error
        except KeyboardInterrupt:
            return
        if not ended:
            # A thread waits for a model that does not answer. Everything is committed; Python would wait for the thread.
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)


def parse_shards(ids: str | None, count: int | None) -> tuple[int, ...]:
    """The numbers in ``--shard-ids``; raises ``CommandError`` where they do not fit ``--shard-count``."""
    if count is not None and count < 1:
        raise CommandError("--shard-count has to be at least 1.")
    if not ids:
        return ()
    if count is None:
        raise CommandError("--shard-ids needs --shard-count, the number of shards of all processes together.")
    try:
        numbers = tuple(sorted({int(number) for number in ids.split(",")}))
    except ValueError as error:
        raise CommandError(
            f"--shard-ids is {ids!r}; write numbers with commas between, such as 0,1."
        ) from error
    if numbers[0] < 0 or numbers[-1] >= count:
        raise CommandError(f"--shard-ids has to be between 0 and {count - 1} (--shard-count less one).")
    return numbers
