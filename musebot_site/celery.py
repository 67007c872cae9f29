"""The Celery application: the engine of durable work. The outbox in the database is the truth; see ``memory.outbox``."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from django.conf import settings

from musebot_site import broker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "musebot_site.settings")


def broker_settings() -> dict[str, Any]:
    """Redis or RabbitMQ where ``CELERY_BROKER_URL`` names one; otherwise a broker in a folder, which needs no server.

    The broker carries wake-ups only (a task's name and ids). It may forget them: the sweep finds what was missed.
    """
    config = settings.MUSEBOT
    if config.broker_url:
        return {"broker_url": config.broker_url}
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


app = Celery("musebot")
app.conf.update(
    **broker_settings(),
    task_ignore_result=True,
    task_acks_late=True,
    task_default_queue="musebot",
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
        "sweep": {"task": "memory.sweep", "schedule": 5.0, "options": {"expires": 10}},
    },
)
app.set_default()
app.autodiscover_tasks(["memory", "botrunner"])
