"""Fetches what an address leads to, as if everybody who writes one were hostile. Addresses come from members, documents and pages.

Each hop's host is looked up once, every address of it is checked, and the connection goes to one of those. Proxies, cookies and
credentials are never used; size (decoded) and time are bounded.
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpcore
import httpx

from memory.web.addresses import Target, target_of
from memory.web.charsets import charset_of, decoded
from memory.web.errors import FetchError
from memory.web.network import Deadline, PinnedBackend, Resolver, addresses_of, system_resolver, tls_context

__all__ = ["IMAGE", "PAGE", "FetchError", "Fetched", "Limits", "fetch"]

USER_AGENT = "Musebot (reads links that people post)"
HEADER_BYTES = 256 * 1024
"""What headers and framing may take besides the body."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_GZIP, _ZLIB, _BARE = 31, 15, -15


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of what is fetched. ``content_types`` are exact; what names none of them is refused."""

    max_bytes: int
    """Of the body, decoded."""
    seconds: float
    """For everything: looking up, connecting, all redirects, the last byte."""
    content_types: frozenset[str]
    redirects: int = 3


PAGE = Limits(
    max_bytes=2_000_000,
    seconds=10.0,
    content_types=frozenset({"text/html", "application/xhtml+xml", "text/plain", "text/markdown"}),
)
IMAGE = Limits(
    max_bytes=10_000_000,
    seconds=20.0,
    content_types=frozenset({"image/jpeg", "image/png", "image/webp", "image/gif"}),
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """``url`` is where the redirects ended, ``content_type`` without parameters, ``body`` decoded."""

    url: str
    content_type: str
    charset: str
    body: bytes

    @property
    def text(self) -> str:
        """The body as text; what its charset cannot say is replaced."""
        return decoded(self.body, self.charset)


def fetch(
    url: str,
    *,
    limits: Limits = PAGE,
    allow_hosts: Collection[str] = (),
    resolver: Resolver = system_resolver,
) -> Fetched:
    """What is at an address. ``allow_hosts`` (``name`` or ``name:port``) are hosts that the operator configured, which may have any
    address; never pass hosts that somebody else chose.

    Raises ``FetchError``.
    """
    deadline = Deadline(limits.seconds)
    for _ in range(limits.redirects + 1):
        target = target_of(url, allow_hosts=allow_hosts)
        addresses = addresses_of(target, resolver=resolver, deadline=deadline)
        with _response(target, addresses, deadline, limits) as response:
            headers = httpx.Headers(response.headers)
            if response.status in _REDIRECTS and "location" in headers:
                url = _joined(target, headers["location"])
                continue
            return _read(target, response, headers, limits)
    raise FetchError("redirects")


@contextmanager
def _response(
    target: Target, addresses: Collection[str], deadline: Deadline, limits: Limits
) -> Iterator[httpcore.Response]:
    backend = PinnedBackend(addresses, deadline=deadline, most_bytes=limits.max_bytes + HEADER_BYTES)
    url = httpcore.URL(
        scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path
    )
    headers = [
        ("Host", target.host_header),
        ("User-Agent", USER_AGENT),
        ("Accept", ", ".join(sorted(limits.content_types))),
        ("Accept-Encoding", "gzip, deflate"),
        ("Connection", "close"),
    ]
    times = dict.fromkeys(("connect", "read", "write", "pool"), limits.seconds)
    with _translated():
        with httpcore.ConnectionPool(
            ssl_context=tls_context(), network_backend=backend, max_connections=1, retries=0
        ) as pool:
            with pool.stream("GET", url, headers=headers, extensions={"timeout": times}) as response:
                yield response


@contextmanager
def _translated() -> Iterator[None]:
    """The library's errors as ours; none of them quotes what the host said."""
    try:
        yield
    except httpcore.TimeoutException:
        raise FetchError("timeout") from None
    except httpcore.ConnectError as error:
        certificate = isinstance(error.__cause__ or error.__context__, ssl.SSLError)
        raise FetchError("tls" if certificate else "unreachable") from None
    except (httpcore.NetworkError, OSError):
        raise FetchError("unreachable") from None
    except (httpcore.ProtocolError, httpcore.UnsupportedProtocol):
        raise FetchError("protocol") from None


def _joined(target: Target, location: str) -> str:
    try:
        return str(target.url.join(location))
    except (httpx.InvalidURL, ValueError):
        raise FetchError("invalid_url") from None


def _read(target: Target, response: httpcore.Response, headers: httpx.Headers, limits: Limits) -> Fetched:
    if not 200 <= response.status < 300:
        raise FetchError("http_status", http_status=response.status)
    content_type, _, parameters = headers.get("content-type", "").partition(";")
    content_type = content_type.strip().lower()
    if content_type not in limits.content_types:
        raise FetchError("content_type")
    length = headers.get("content-length", "")
    if length.isdigit() and int(length[:20]) > limits.max_bytes:
        raise FetchError("too_large")
    encoding = headers.get("content-encoding", "").strip().lower()
    body = _body(response.iter_stream(), encoding, limits.max_bytes)
    return Fetched(str(target.url), content_type, charset_of(parameters, body), body)


def _body(chunks: Iterator[bytes], encoding: str, most: int) -> bytes:
    """The body, decoded; no more than ``most`` bytes of it ever exist."""
    decode = _Decoder(encoding)
    body = bytearray()
    for chunk in chunks:
        body += decode(chunk, most + 1 - len(body))
        if len(body) > most:
            raise FetchError("too_large")
    return bytes(body)


class _Decoder:
    """Undoes one compression. Several in a row, which multiply, are refused like those that were not asked for."""

    def __init__(self, encoding: str) -> None:
        if encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            raise FetchError("encoding")
        self._bits = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}.get(encoding)
        self._inflate = zlib.decompressobj(self._bits) if self._bits else None
        self._begun = False

    def __call__(self, chunk: bytes, most: int) -> bytes:
        """At most ``most`` bytes; what is longer is cut, and refused by the caller."""
        if self._inflate is None:
            return chunk[:most]
        try:
            data = self._inflate.decompress(chunk, most)
        except zlib.error:
            if self._bits != _ZLIB or self._begun:
                raise FetchError("encoding") from None
            # Some servers leave out the header that "deflate" has by the book.
            self._bits, self._inflate = _BARE, zlib.decompressobj(_BARE)
            return self(chunk, most)
        self._begun = True
        return data
