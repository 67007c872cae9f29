"""Everything at once: dashboard, worker with schedule, and the bot where a token is set."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command, get_commands
from django.core.management.base import CommandError, CommandParser
from django.db import connections

from memory.checks import check_database
from memory.management.base import QuickCommand
from memory.management.migrated import missing_steps
from musebot_site.supervision import Child, Supervisor


class Command(QuickCommand):
    help = "Starts the dashboard, the worker and, where DISCORD_TOKEN is set, the bot. Ctrl-C ends all of it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="Address to listen on (127.0.0.1).")
        parser.add_argument("--port", type=int, default=8000, help="Port to listen on (8000).")
        parser.add_argument(
            "--no-bot", action="store_true", help="Without the Discord bot, even with a token."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = options["host"], options["port"]
        self._lock = threading.Lock()
        require_free_port(host, port)
        self._migrate()
        self._greet(host, port)
        children = [
            Child("web", _manage("serve", "--host", host, "--port", str(port))),
            Child("worker", _manage("worker")),
        ]
        if self._has_bot(options["no_bot"]):
            children.append(Child("bot", _manage("runbot")))
        connections.close_all()
        _forget_old_figures()
        supervisor = Supervisor(children, self._say)
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), supervisor.stop)
        status = supervisor.run()
        self._say("Stopped.")
        sys.exit(status)

    def _migrate(self) -> None:
        for found in check_database(databases=["default"]):
            raise CommandError(f"{found.msg} {found.hint}")
        if steps := missing_steps():
            self._say(f"Preparing the database ({steps} steps) …")
            call_command("migrate", interactive=False, verbosity=0)

    def _greet(self, host: str, port: int) -> None:
        from musebot_site import earlier_memory
        from musebot_site.dashboard import first_sign_in

        shown = "localhost" if host in {"0.0.0.0", "::", "127.0.0.1", "::1", ""} else host
        address = f"http://{shown}:{port}" if ":" not in shown else f"http://[{shown}]:{port}"
        self._say(f"Musebot is starting at {address}/")
        if link := first_sign_in.link(address):
            self._say(f"The first time, sign in here: {link}")
        if host in {"0.0.0.0", "::"} and "*" not in settings.ALLOWED_HOSTS and _only_local():
            self._say(
                "To open it from other machines, name the address they use in DJANGO_ALLOWED_HOSTS (now only this one)."
            )
        if earlier := list(earlier_memory.found(settings.MUSEBOT.database_path)):
            from memory.capture.importing import imported_files  # more than the rest together

            done = imported_files()
            for path in earlier:
                if path.name not in done:
                    self._say(earlier_memory.message(path))
        self._say("Ctrl-C ends it.")

    def _has_bot(self, unwanted: bool) -> bool:
        if unwanted:
            return False
        if settings.MUSEBOT.discord.token is None:
            self._say("No Discord bot: set DISCORD_TOKEN to start it. The dashboard says how.")
            return False
        return "runbot" in get_commands()

    def _say(self, line: str) -> None:
        with self._lock:
            self.stdout.write(line)
            self.stdout.flush()


def require_free_port(host: str, port: int, *, command: str = "up") -> None:
    """Raises ``CommandError`` with what to do, unless the address can be listened on."""
    if not 0 < port < 65536:
        raise CommandError(f"{port} is no port; use a number from 1 to 65535.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise CommandError(f"{host!r} is no address of this machine; use 127.0.0.1 or 0.0.0.0.") from error
    with socket.socket(family, kind, protocol) as probe:
        if os.name != "nt":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise CommandError(_why_not(error, host, port, command)) from error


def _why_not(error: OSError, host: str, port: int, command: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is taken by another program (perhaps Musebot runs already). "
            "Stop that one, or choose another port: "
            f"python manage.py {command} --port {port + 1 if port < 65535 else 8000}"
        )
    if error.errno == errno.EACCES:
        return f"Port {port} may not be used by an ordinary user; choose one above 1023."
    return f"{host}:{port} cannot be listened on: {error.strerror}."


def _forget_old_figures() -> None:
    """Files of processes that ended; Prometheus takes a count that starts at nothing for a restart, which it is."""
    for path in Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).glob("*.db"):
        path.unlink(missing_ok=True)


def _only_local() -> bool:
    return set(settings.ALLOWED_HOSTS) <= {"localhost", "127.0.0.1", "[::1]"}


def _manage(*arguments: str) -> list[str]:
    return [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]
