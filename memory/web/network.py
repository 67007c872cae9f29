"""Connections to addresses that were checked, and to no others; everything under one deadline."""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any

import httpcore
import httpx

from memory.web.addresses import Target, is_public
from memory.web.errors import FetchError

Resolver = Callable[[str], Sequence[str]]
"""From a host's name to its IP addresses; raises ``OSError``."""

MOST_ADDRESSES = 4
"""Addresses of a host that are tried."""


class Deadline:
    """One moment by which everything is over."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self, most: float | None = None) -> float:
        """Seconds that are left, at most ``most``. Raises ``FetchError`` (``timeout``) when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise FetchError("timeout")
        return left if most is None else min(left, most)


def system_resolver(host: str) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def addresses_of(target: Target, *, resolver: Resolver, deadline: Deadline) -> list[str]:
    """The IP addresses to connect to. The host is looked up once; one address that is not allowed refuses it altogether."""
    literal = target.address
    found = [literal] if literal else list(dict.fromkeys(_resolved(target.host, resolver, deadline)))
    if not found:
        raise FetchError("not_found")
    if not target.operators and not all(is_public(address) for address in found):
        raise FetchError("address_not_allowed")
    return found[:MOST_ADDRESSES]


def _resolved(host: str, resolver: Resolver, deadline: Deadline) -> Sequence[str]:
    """The system's resolver knows no time-out, so it is asked in a thread that may be left behind."""
    answers: queue.SimpleQueue[Sequence[str] | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(resolver(host))
        except Exception as error:
            answers.put(error)

    threading.Thread(target=ask, name="resolve", daemon=True).start()
    try:
        answer = answers.get(timeout=deadline.left())
    except queue.Empty:
        raise FetchError("timeout") from None
    if isinstance(answer, socket.gaierror) and answer.errno == socket.EAI_AGAIN:
        raise FetchError("unreachable")
    if isinstance(answer, Exception):
        raise FetchError("not_found")
    return answer


@lru_cache(maxsize=1)
def tls_context() -> ssl.SSLContext:
    """Verifies certificates and names; the environment has no say in it."""
    return httpx.create_ssl_context(trust_env=False)


class PinnedBackend(httpcore.NetworkBackend):
    """Connects to the given addresses, whatever the name in the request resolves to by now."""

    def __init__(self, addresses: Collection[str], *, deadline: Deadline, most_bytes: int) -> None:
        self._addresses = addresses
        self._deadline = deadline
        self._most_bytes = most_bytes
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        failure: Exception = FetchError("unreachable")
        for tried, address in enumerate(self._addresses):
            # An address that does not answer may not use up the time of those after it.
            share = self._deadline.left() / (len(self._addresses) - tried)
            try:
                stream = self._sockets.connect_tcp(address, port, share, None, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _Stream(stream, self._deadline, self._most_bytes)
        raise failure

    def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore.NetworkStream:
        raise FetchError("address_not_allowed")


class _Stream(httpcore.NetworkStream):
    """Ends at the deadline, however slowly something still arrives, and after so many bytes, headers included."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline, bytes_left: int) -> None:
        self._inner = inner
        self._deadline = deadline
        self._bytes_left = bytes_left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, self._deadline.left(timeout))
        self._bytes_left -= len(data)
        if self._bytes_left < 0:
            raise FetchError("too_large")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadline.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, self._deadline.left(timeout))
        return _Stream(inner, self._deadline, self._bytes_left)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
