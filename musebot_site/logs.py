"""Keeps what people wrote out of the log, and writes it as lines to read or as JSON for a log collector."""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime


class Unnamed(RuntimeError):
    """Stands for an exception, with its type as the only thing it says."""


class TypeAndPlace(logging.Filter):
    """Of an exception its type and place alone: its message may quote what was sent, or what is stored."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        # Every handler filters the record anew.
        if error is not None and not isinstance(error, Unnamed):
            name = type(error).__name__
            record.exc_info = (Unnamed, Unnamed(name), error.__traceback__)
            record.exc_text = None
        return True


class JsonLines(logging.Formatter):
    """One object a line: ``{time, level, logger, message, process}``, and of an exception ``{error, at}``, its type and its place."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            last = traceback.extract_tb(error.__traceback__)[-1:]
            fields["error"] = str(error) if isinstance(error, Unnamed) else type(error).__name__
            fields["at"] = f"{last[0].filename}:{last[0].lineno}" if last else ""
        return json.dumps(fields, ensure_ascii=False)
