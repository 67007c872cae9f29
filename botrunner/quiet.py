"""Logging of failures without what people wrote.

The message of an exception may quote its input (a validation error does), so only its type and place are logged.
"""

from __future__ import annotations

import logging
import traceback


def log_failure(logger: logging.Logger, what: str, error: BaseException) -> None:
    """One error record: what failed, the type of the error, and the calls that led there."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    where = " < ".join(
        f"{frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno})" for frame in reversed(frames)
    )
    logger.error("%s failed: %s in %s", what, type(error).__name__, where or "?")


class OneLine(logging.Filter):
    """Cuts tracebacks from records of discord.py: a connection that breaks is news of one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[0] is not None:
            record.msg = f"{record.getMessage()} ({record.exc_info[0].__name__})"
            record.args = None
            record.exc_info = record.exc_text = None
        return True


def quieten_discord() -> None:
    """Idempotent. Filters do not pass on to loggers below, hence each by its name."""
    for name in (
        "client",
        "shard",
        "gateway",
        "state",
        "http",
        "ext.commands.bot",
        "ext.tasks",
        "app_commands.tree",
    ):
        log = logging.getLogger(f"discord.{name}")
        if not any(isinstance(one, OneLine) for one in log.filters):
            log.addFilter(OneLine())
