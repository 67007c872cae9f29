"""What can go wrong with a fetch, by a stable code."""

from __future__ import annotations

from typing import Any

from memory.errors import MusebotError

MESSAGES = {
    "invalid_url": "This is not an http or https address that can be fetched.",
    "address_not_allowed": "The address is not on the public internet, so it is not fetched.",
    "port_not_allowed": "Only the ports 80 and 443 are fetched from.",
    "redirects": "The address redirects too often.",
    "content_type": "What is there is of a type that is not read.",
    "encoding": "What is there is compressed in a way that was not asked for, or broken.",
    "too_large": "What is there is too large.",
    "timeout": "It did not arrive in time.",
    "not_found": "The host is not known.",
    "unreachable": "The host cannot be reached, or broke the connection.",
    "tls": "The host's certificate is not valid for it.",
    "protocol": "The host does not speak HTTP as it should.",
    "http_status": "The host refused.",
}
RETRYABLE = frozenset({"timeout", "unreachable"})
RETRYABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})


class FetchError(MusebotError):
    """Something could not be fetched. ``code`` says why; neither message nor details hold the address."""

    status = 502

    def __init__(self, code: str, **details: Any) -> None:
        super().__init__(MESSAGES[code], **details)
        self.code = code
        self.retryable = code in RETRYABLE or details.get("http_status") in RETRYABLE_STATUSES
