"""Keeps what people wrote out of the log."""

from __future__ import annotations

import logging


class TypeAndPlace(logging.Filter):
    """Of an exception its type and place alone: its message may quote what was sent, or what is stored."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            name = type(error).__name__
            record.exc_info = (RuntimeError, RuntimeError(name), error.__traceback__)
            record.exc_text = None
        return True
