"""From an address as somebody wrote it to a host, and which IP addresses may be connected to."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import httpx

from memory.web.errors import FetchError

MOST_CHARACTERS = 2048
PORTS = {"http": 80, "https": 443}

# Loopback, private, shared (CGNAT), link-local (with the metadata service), documentation, benchmarks, relays, multicast and
# reserved; the last one is Azure's metadata service, which has an address that looks public.
_FORBIDDEN_V4 = tuple(
    IPv4Network(block)
    for block in [
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "168.63.129.16/32",
    ]
)
_PUBLIC_V6 = IPv6Network("2000::/3")
# Teredo and other protocol assignments, documentation, 6to4, AS112.
_FORBIDDEN_V6 = tuple(
    IPv6Network(block)
    for block in ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"]
)
# Networks without IPv4 of their own reach it through these; what counts is the address inside.
_TRANSLATED_V6 = (IPv6Network("64:ff9b::/96"), IPv6Network("::ffff:0:0/96"))

_UNWELCOME = re.compile(r"[\x00-\x20\x7f\\]")
_NAME = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9-]{1,63}\Z")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)\Z")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes. ``path`` includes the query; ``operators`` marks a host that the operator configured."""

    url: httpx.URL
    scheme: str
    host: str
    port: int
    path: bytes
    operators: bool = False

    @property
    def address(self) -> str | None:
        """The host where it is an IP address itself."""
        try:
            return str(ip_address(self.host))
        except ValueError:
            return None

    @property
    def host_header(self) -> str:
        return _with_port(self.host, None if self.port == PORTS[self.scheme] else self.port)


def target_of(url: str, *, allow_hosts: Collection[str] = ()) -> Target:
    """Where an address leads, checked as far as it can be without asking for the host's IP addresses.

    ``allow_hosts`` are hosts (``name`` or ``name:port``) that the operator configured. Raises ``FetchError``.
    """
    if len(url) > MOST_CHARACTERS or _UNWELCOME.search(url):
        raise FetchError("invalid_url")
    try:
        parsed = httpx.URL(url)
        port = parsed.port
        host = parsed.raw_host.decode("ascii").lower()
    except (httpx.InvalidURL, ValueError):  # IDNA's errors are among them
        raise FetchError("invalid_url") from None
    if parsed.scheme not in PORTS or parsed.userinfo or not host:
        raise FetchError("invalid_url")
    port = port or PORTS[parsed.scheme]
    host = _checked_host(host.strip("[]"))
    operators = _is_allowed(host, port, allow_hosts)
    if not operators:
        if port not in PORTS.values():
            raise FetchError("port_not_allowed")
        if host == "localhost" or host.endswith(".localhost"):
            raise FetchError("address_not_allowed")
    return Target(parsed, parsed.scheme, host, port, parsed.raw_path, operators)


def is_public(address: str) -> bool:
    """Whether an IP address belongs to the public internet. What cannot be told does not."""
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        if ip.scope_id:
            return False
        for block in _TRANSLATED_V6:
            if ip in block:
                return _is_public_v4(IPv4Address(int(ip) & 0xFFFFFFFF))
        return ip in _PUBLIC_V6 and not any(ip in block for block in _FORBIDDEN_V6) and ip.is_global
    return _is_public_v4(ip)


def _is_public_v4(ip: IPv4Address) -> bool:
    return ip.is_global and not any(ip in block for block in _FORBIDDEN_V4)


def _checked_host(host: str) -> str:
    """The host without a trailing dot. Spellings of numbers that only some resolvers read (``0x7f.1``) are refused."""
    if ":" in host:
        try:
            if "%" in host:
                raise FetchError("address_not_allowed")
            return str(IPv6Address(host))
        except ValueError:
            raise FetchError("invalid_url") from None
    host = host.removesuffix(".")
    if _NUMBER.match(host.rpartition(".")[2]):
        try:
            return str(IPv4Address(host))
        except ValueError:
            raise FetchError("address_not_allowed") from None
    if host != "localhost" and not _NAME.match(host):
        raise FetchError("invalid_url")
    return host


def _is_allowed(host: str, port: int, allow_hosts: Collection[str]) -> bool:
    allowed = {one.lower() for one in allow_hosts}
    return _with_port(host, port) in allowed or (host in allowed and port in PORTS.values())


def _with_port(host: str, port: int | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return name if port is None else f"{name}:{port}"
