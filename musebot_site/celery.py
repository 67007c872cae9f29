"""The Celery application: the engine of durable work. The outbox in the database is the truth; see ``memory.outbox``."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from django.conf import settings

from musebot_site import broker, queues

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "musebot_site.settings")


def broker_settings() -> dict[str, Any]:
    """Redis or RabbitMQ where ``CELERY_BROKER_URL`` names one; otherwise a broker in a folder, which needs no server.

    The broker carries wake-ups only (a task's name and ids). It may forget them: the sweep finds what was missed.
    """
    config = settings.MUSEBOT
    if config.broker_url:
        return {"broker_url": config.broker_url, "broker_transport_options": _options(config.broker_url)}
    folder = config.database_path.parent / "broker"
    for name in ("queue", "control"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    broker.register()
    return {
        "broker_url": f"{broker.ALIAS}://localhost",
        "broker_transport_options": {
            "data_folder_in": str(folder / "queue"),
            "data_folder_out": str(folder / "queue"),
            "control_folder": str(folder / "control"),
            "store_processed": False,
            # kombu looks once a second by default, which a person who waits for an answer would notice.
            "polling_interval": 0.1,
        },
    }


def _options(url: str) -> dict[str, Any]:
    # Whoever stores a message does not wait for a broker that is gone; the sweep comes when it is back.
    away = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.2}
    if not url.startswith(("redis", "rediss", "sentinel")):
        return away
    return {
        **away,
        # A wake-up that a worker took and did not finish (it was killed) is given to another one.
        "visibility_timeout": REDELIVERED_AFTER_SECONDS,
        "queue_order_strategy": "priority",
        "socket_connect_timeout": 2,
        "socket_timeout": 5,
        "socket_keepalive": True,
        "health_check_interval": 25,
    }


SWEEP_SECONDS = 5.0
REDELIVERED_AFTER_SECONDS = 600
"""Longer than any task takes: they end after twenty seconds, but for a batch that is under way."""

app = Celery("musebot")
app.conf.update(
    **broker_settings(),
    task_ignore_result=True,
    task_acks_late=True,
    task_default_queue=queues.PREFIX + queues.USUAL,
    task_queues=queues.all_queues(),
    task_routes=(queues.route,),
    task_serializer="json",
    accept_content=["json"],
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_connection_retry_on_startup=True,
    timezone="UTC",
    beat_schedule={
        "sweep": {
            "task": "memory.sweep",
            "schedule": SWEEP_SECONDS,
            "kwargs": {"every": SWEEP_SECONDS},
            "options": {"expires": 10},
        },
    },
)
app.set_default()
app.autodiscover_tasks(["memory", "botrunner"])
