"""The worker: does what is in the outbox, and looks every few seconds for what was missed."""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from memory import backends
from memory.errors import InvalidInput
from memory.management.base import QuickCommand
from musebot_site import queues


class Command(QuickCommand):
    help = "Runs the worker with its schedule, in one process (part of `up`)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--threads", type=int, default=2, help="Tasks at a time.")
        parser.add_argument(
            "--queues",
            default="",
            metavar="NAMES",
            help=f"Take from these only, with commas between: {', '.join(queues.NAMES)}. All of them where none is named.",
        )
        parser.add_argument(
            "--no-schedule", action="store_true", help="Without the schedule; another worker has to have it."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            wanted = queues.named(options["queues"])
        except InvalidInput as error:
            raise CommandError(error.message) from error
        from celery import signals
        from celery.beat import EmbeddedService
        from celery.exceptions import SecurityWarning

        from musebot_site import broker
        from musebot_site.celery import app

        if not settings.MUSEBOT.broker_url:
            broker.clean(settings.MUSEBOT.database_path.parent / "broker" / "queue")
        # Django has set the logging up; Celery leaves it alone once somebody listens to this.
        signals.setup_logging.connect(_keep_logging, weak=False)
        logging.getLogger("celery").setLevel(logging.WARNING)
        # It warns of root because pickled messages run code. Only JSON is accepted here.
        warnings.simplefilter("ignore", SecurityWarning)
        # A thread, not a process: half the memory, and Windows has it too. The schedule is short and needs no file.
        if not options["no_schedule"]:
            schedule: Any = EmbeddedService(app, thread=True, scheduler_cls="celery.beat:Scheduler")
            signals.worker_ready.connect(lambda **_: schedule.start(), weak=False)
            signals.worker_shutting_down.connect(lambda **_: _stop(schedule), weak=False)
        signals.worker_ready.connect(lambda **_: self.stdout.write("ready"), weak=False)
        signals.worker_ready.connect(_warm_up, weak=False)
        worker = app.Worker(
            pool="threads",
            concurrency=options["threads"],
            queues=wanted,
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            quiet=True,
        )
        worker.start()
        sys.exit(worker.exitcode or 0)


def _keep_logging(**kwargs: Any) -> None:
    return None


def _warm_up(**kwargs: Any) -> None:
    """Loads the built-in embedder now, so that the first message does not wait for it."""
    model = settings.MUSEBOT.memory.embedding_model
    if model is not None and model.provider == "local":
        threading.Thread(target=lambda: backends.embedder().embed_documents(["hello"]), daemon=True).start()


def _stop(schedule: Any) -> None:
    # Without waiting: this runs in a signal handler. The thread is a daemon and looks once a second.
    schedule.service.stop(wait=False)
