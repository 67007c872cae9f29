"""One Ollama host: how to reach it, whether it answers, and which models it has."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx
import ollama

from memory.errors import ModelTimeout, ModelUnavailable, MusebotError
from memory.llm.ollama_errors import translate
from memory.llm.queueing import Gate

logger = logging.getLogger(__name__)

PARALLEL = 2
"""Requests that one process has under way at one host's model. Ollama works off one at a time by default."""
WAITING = 32
FRESH_SECONDS = 15.0
"""How long a host's answer about its health and models is believed."""
RETRY_SECONDS = (0.0, 1.0, 2.0, 4.0, 8.0, 10.0)
"""Pause after the first, second, … failure in a row before a host is asked again."""
CONNECT_SECONDS = 5.0
PROBE_TIMEOUT = httpx.Timeout(5.0, connect=2.0)

Clock = Callable[[], float]


def normal_name(model: str) -> str:
    """A model's name as it is compared: ``Llama3`` and ``llama3:latest`` are one."""
    name = model.strip().lower()
    for prefix in ("registry.ollama.ai/library/", "registry.ollama.ai/"):
        name = name.removeprefix(prefix)
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"


class HostClient(ollama.Client):
    """Ollama's own client, told everything: it would send ``OLLAMA_API_KEY`` to any host, wait for ever and use proxies."""

    def __init__(self, url: str, timeout: httpx.Timeout) -> None:
        parts = urlsplit(url)
        auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
        super().__init__(host=url, timeout=timeout, auth=auth, trust_env=False, follow_redirects=False)
        self._client.headers.pop("authorization", None)


class Host:
    """Health, models and load of one host, as this process sees them. Safe for threads."""

    def __init__(self, url: str, *, clock: Clock = time.monotonic) -> None:
        parts = urlsplit(url)
        self.url = url
        self.label = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")
        """The address without what signs in there."""
        self.error: MusebotError | None = None
        self._digests: dict[str, str] | None = None
        self._asked_at = 0.0
        self._retry_at = 0.0
        self._failures = 0
        self._clock = clock
        self._clients: dict[float, HostClient] = {}
        self._capabilities: dict[str, frozenset[str] | None] = {}
        self._gates: dict[str, Gate] = {}
        self._lock = threading.Lock()
        self._asking = threading.Lock()

    def client(self, read_seconds: float) -> HostClient:
        """A client that waits so long for each piece of an answer."""
        with self._lock:
            if read_seconds not in self._clients:
                timeout = httpx.Timeout(
                    connect=CONNECT_SECONDS, read=read_seconds, write=30.0, pool=CONNECT_SECONDS
                )
                self._clients[read_seconds] = HostClient(self.url, timeout)
            return self._clients[read_seconds]

    def gate(self, model: str) -> Gate:
        with self._lock:
            return self._gates.setdefault(normal_name(model), Gate(parallel=PARALLEL, waiting=WAITING))

    @property
    def load(self) -> int:
        with self._lock:
            gates = list(self._gates.values())
        return sum(gate.load for gate in gates)

    @property
    def known(self) -> bool:
        """Whether it answers, as far as is known, and what it has."""
        return self.error is None and self._digests is not None

    def due(self, older_than: float = FRESH_SECONDS) -> bool:
        """Whether to ask it again: its answer is older than so many seconds, or the pause after a failure is over."""
        now = self._clock()
        if self.error is not None:
            return now >= self._retry_at
        return self._digests is None or now - self._asked_at > older_than

    def digest(self, model: str) -> str | None:
        """The build of a model that it has; None if it does not have it, or does not answer."""
        return (self._digests or {}).get(normal_name(model)) if self.known else None

    def refresh(self, *, older_than: float = FRESH_SECONDS, force: bool = False) -> None:
        """Asks for its models, if that is due. One caller asks; others wait for the answer."""
        with self._asking:
            if not (force or self.due(older_than)):
                return
            try:
                client = self._probe()
                found = client.list().models
            except Exception as error:
                self.failed(translate(error, host=self.label, model=""))
                return
            self._digests = {normal_name(entry.model): entry.digest or "" for entry in found if entry.model}
            self._asked_at = self._clock()
            if self.error is not None:
                logger.info("Ollama host %s answers again", self.label)
            self.error = None

    def refresh_aside(self) -> None:
        """The same without waiting for it."""
        if not self._asking.locked():
            threading.Thread(target=self.refresh, daemon=True, name="ollama-health").start()

    def _probe(self) -> HostClient:
        with self._lock:
            if -1.0 not in self._clients:
                self._clients[-1.0] = HostClient(self.url, PROBE_TIMEOUT)
            return self._clients[-1.0]

    def capabilities(self, model: str) -> frozenset[str] | None:
        """What a model of its can do (``completion``, ``vision``, ``thinking``, …); None if the server does not tell."""
        build = f"{normal_name(model)} {self.digest(model)}"
        if build not in self._capabilities:
            try:
                told = self._probe().show(model).capabilities
            except Exception as error:  # old servers and unfit proxies: then nothing is known
                logger.debug("no capabilities from %s (%s)", self.label, type(error).__name__)
                if isinstance(translate(error, host=self.label, model=model), ModelUnavailable):
                    return None
                told = None
            self._capabilities[build] = frozenset(told) if told is not None else None
        return self._capabilities[build]

    def failed(self, error: MusebotError) -> None:
        """Notes a failure; one that says that the host is away keeps it out of the choice for a while."""
        with self._lock:
            pause = RETRY_SECONDS[min(self._failures, len(RETRY_SECONDS) - 1)]
            self._failures += 1
            if self.error is None:
                logger.warning("Ollama host %s: %s", self.label, error.code)
            self.error = error
            self._retry_at = self._clock() + pause

    def forget_models(self) -> None:
        """Its list of models is not right any more."""
        self._asked_at = float("-inf")

    def succeeded(self) -> None:
        with self._lock:
            self._failures = 0
            self.error = None

    def report(self, model: str) -> dict[str, Any]:
        """For the dashboard."""
        capabilities = self.capabilities(model) if self.digest(model) is not None else None
        return {
            "host": self.label,
            "ok": self.known,
            "has_model": self.digest(model) is not None,
            "digest": (self.digest(model) or "")[:12],
            "capabilities": sorted(capabilities) if capabilities is not None else None,
            "models": sorted(self._digests or ()) if self.known else [],
            "busy": self.load,
            "error": self.error.message if self.error else "",
            "slow": isinstance(self.error, ModelTimeout),
        }
