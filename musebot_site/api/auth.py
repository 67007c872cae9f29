"""Who may do what: ``Authorization: Bearer KEY``, with a scope for each route, and for keys that are limited to servers those.

A route is closed to limited keys unless it says that it is about servers (``of_servers``) and asks which it is about, with
``require_server`` for a server that the request names and ``reaches`` for an object: what is elsewhere does not exist.
"""

from __future__ import annotations

from django.http import HttpRequest
from ninja.security import HttpBearer

from memory.access import SCOPES, Access, check_key
from memory.errors import Forbidden


class Key(HttpBearer):
    """Lets through keys that have a scope; ``request.auth`` is then their ``Access``."""

    def __init__(self, scope: str, *, of_servers: bool = False) -> None:
        super().__init__()
        assert scope in SCOPES
        self.scope = scope
        self.limited = of_servers
        """Whether keys that are limited to servers pass, too: the route then asks which server it is about."""

    def authenticate(self, request: HttpRequest, token: str) -> Access | None:
        access = check_key(token.strip())
        request.musebot_key = access  # type: ignore[attr-defined]  # for the audit, also where it is refused
        if access is not None and not access.allows(self.scope):
            raise Forbidden(f"This key does not have the scope {self.scope!r}.", scope=self.scope)
        if access is not None and access.servers is not None and not self.limited:
            raise Forbidden("This key is limited to servers, and this is not about one.")
        return access


def require_server(request: HttpRequest, guild_id: int | None) -> None:
    """Refuses a limited key that names another server, or none. Raises ``Forbidden``."""
    if not reaches(request, guild_id):
        raise Forbidden("This key is limited to servers: name one of them in guild_id.", field="guild_id")


def reaches(request: HttpRequest, guild_id: int | None) -> bool:
    access: Access = request.auth  # type: ignore[attr-defined]
    return access.reaches(guild_id)


READ, ASK, WRITE, ERASE, ADMIN = Key("read"), Key("ask"), Key("write"), Key("erase"), Key("admin")
READ_OF_SERVERS, ASK_OF_SERVERS = Key("read", of_servers=True), Key("ask", of_servers=True)
WRITE_OF_SERVERS, ERASE_OF_SERVERS = Key("write", of_servers=True), Key("erase", of_servers=True)
