"""From the URL of a database to Django's settings for it.

``postgres://user:password@host:5432/name?sslmode=require``; user, password and a host that is a folder (a Unix socket, also as
``?host=/var/run/postgresql``) may be percent-encoded. ``sqlite:///path`` is understood where a storage is moved.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from memory.errors import ConfigurationError
from memory.index.connection import database_options

SCHEMES = frozenset({"postgres", "postgresql"})
OPTIONS = frozenset(
    {
        "application_name",
        "channel_binding",
        "connect_timeout",
        "gssencmode",
        "options",
        "sslcert",
        "sslkey",
        "sslmode",
        "sslrootcert",
        "target_session_attrs",
    }
)
"""What may stand after the question mark beside ``host`` and ``port``: names of libpq that change nothing about the data."""
CONNECT_SECONDS = 10


def sqlite(path: Path | str) -> dict[str, Any]:
    """Settings of a file, as an entry of ``DATABASES``."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "OPTIONS": database_options(),
        "CONN_MAX_AGE": None,
    }


def postgres(url: str) -> dict[str, Any]:
    """Settings of a PostgreSQL, as an entry of ``DATABASES``. Raises ``ConfigurationError`` for a URL that names none.

    Each thread keeps its connection and asks before it uses it again whether the server still answers.
    """
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.scheme not in SCHEMES or not parts.path.strip("/"):
        raise ConfigurationError(
            "DATABASE_URL has to look like postgres://user:password@host:5432/name; for SQLite, leave it out."
        )
    host, port = query.pop("host", "") or unquote(parts.hostname or ""), query.pop("port", "")
    if unknown := sorted(set(query) - OPTIONS):
        raise ConfigurationError(
            f"DATABASE_URL has the option {unknown[0]!r}; possible are {', '.join(sorted(OPTIONS))}."
        )
    try:
        number = parts.port or int(port or 5432)
    except ValueError as error:
        raise ConfigurationError("The port in DATABASE_URL has to be a number up to 65535.") from error
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": _with_capitals(parts.netloc, host),
        "PORT": str(number),
        "OPTIONS": {"connect_timeout": CONNECT_SECONDS, **query},
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }


def from_url(url: str) -> dict[str, Any]:
    """Settings of either kind. Raises ``ConfigurationError``."""
    if url.startswith("sqlite:///") and (path := unquote(url.removeprefix("sqlite:///"))):
        # sqlite:////var/lib/x.db is absolute; with three slashes the path begins where the command was started.
        return sqlite(Path(path).expanduser().resolve())
    if urlsplit(url).scheme in SCHEMES:
        return postgres(url)
    raise ConfigurationError(
        "Write postgres://user:password@host:5432/name or sqlite:///path (four slashes for an absolute one)."
    )


def shown(settings: dict[str, Any]) -> str:
    """Where a database is, without its password."""
    if settings["ENGINE"].endswith("sqlite3"):
        return str(settings["NAME"])
    place = settings["HOST"] or "the local socket"
    return f"{settings['NAME']} on {place}" + (f":{settings['PORT']}" if settings["HOST"] else "")


def _with_capitals(place: str, host: str) -> str:
    """A folder as its name was written: the parser of URLs makes hosts lower case."""
    written = unquote(place.rpartition("@")[2].partition(":")[0])
    return written if written.lower() == host else host
