"""What the worker does for the bot: reading histories and asking for new links to attachments, with a REST login of its own. Loaded by Celery, never by the dashboard."""

from __future__ import annotations

from botrunner.history import read_entries
from botrunner.refreshing import fresh_attachments
from memory import capture, tasks
from memory.capture.backfill import HISTORY

tasks.register(HISTORY, tasks.Handler(read_entries, 1))
capture.supply_refresher(fresh_attachments)
