"""What a page says: its title and its main text. A page is parsed in a process of its own, which is ended if it takes too long:
there are pages that keep a parser busy for hours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from memory.errors import MusebotError
from memory.web import Fetched

MOST_CHARACTERS = 8_000
MOST_TITLE = 200
MOST_HTML = 2_000_000
SECONDS = 15.0
_PROGRAM = Path(__file__).with_name("readable.py")


class PageUnreadable(MusebotError):
    """The page cannot be read: it is broken, or takes too long to parse."""

    code = "page_unreadable"
    status = 422


@dataclass(frozen=True, slots=True)
class Page:
    """Either may be empty; ``text`` has at most ``MOST_CHARACTERS``."""

    title: str
    text: str


def read_page(fetched: Fetched, *, seconds: float = SECONDS) -> Page:
    """Title and text of what was fetched: plain text as it is, HTML by Readability. Raises ``PageUnreadable``."""
    if fetched.content_type in {"text/plain", "text/markdown"}:
        return Page("", _clean(fetched.text[: MOST_CHARACTERS * 2])[:MOST_CHARACTERS])
    found = _readable(fetched.text[:MOST_HTML], seconds)
    return Page(_clean(found["title"])[:MOST_TITLE], _clean(found["text"])[:MOST_CHARACTERS])


def _readable(html: str, seconds: float) -> dict[str, str]:
    # Isolated mode, and of the environment only what Windows cannot start without: no settings, no secrets.
    environment = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    command = [sys.executable, "-I", str(_PROGRAM), str(MOST_CHARACTERS)]
    try:
        done = subprocess.run(
            command,
            input=_clean(html).encode("utf-8", "replace"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            env=environment,
            check=True,
        )
        found = json.loads(done.stdout)
        return {"title": str(found["title"]), "text": str(found["text"])}
    except (subprocess.SubprocessError, OSError, ValueError, KeyError, TypeError):
        raise PageUnreadable() from None


def _clean(text: str) -> str:
    """Without NUL and lone surrogates, which no store can hold."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8").strip()
