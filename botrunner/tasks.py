"""What the worker does for the bot: reading histories, with a REST login of its own. Loaded by Celery, never by the dashboard."""

from __future__ import annotations

from botrunner.history import read_entries
from memory import tasks
from memory.capture.backfill import HISTORY

tasks.register(HISTORY, tasks.Handler(read_entries, 1))
