"""Who may do what: ``Authorization: Bearer KEY``, with a scope for each route."""

from __future__ import annotations

from django.http import HttpRequest
from ninja.security import HttpBearer

from memory.access import SCOPES, Access, check_key
from memory.errors import Forbidden


class Key(HttpBearer):
    """Lets through keys that have a scope; ``request.auth`` is then their ``Access``."""

    def __init__(self, scope: str) -> None:
        super().__init__()
        assert scope in SCOPES
        self.scope = scope

    def authenticate(self, request: HttpRequest, token: str) -> Access | None:
        access = check_key(token.strip())
        request.musebot_key = access  # type: ignore[attr-defined]  # for the audit, also where it is refused
        if access is not None and not access.allows(self.scope):
            raise Forbidden(f"This key does not have the scope {self.scope!r}.", scope=self.scope)
        return access


READ, ASK, WRITE, ERASE, ADMIN = Key("read"), Key("ask"), Key("write"), Key("erase"), Key("admin")
