"""Sign-in of people (OAuth2): the page that asks for permission, codes, tokens, and what a token may read.

A code works once and for a minute, with the redirect address and, if there was a challenge, the verifier that belong to it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import secrets
import urllib.parse

from ..errors import ApiErr, unauthorized
from ..store import Obj
from .request import Req, route

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Discord simulator</title>
<h1>Authorize {name}</h1><p>{scope}</p><form method="post">{hidden}{buttons}<button name="deny" value="1">Cancel</button></form></html>"""


class Page(str):
    """An answer in HTML."""


class Redirect(str):
    """An answer that leads elsewhere."""


def oauth(sim) -> Obj:
    """Its state: who agreed to what (user, scope), codes and tokens. It goes with a reset of the world."""
    if getattr(sim, "_oauth_of", None) is not sim.users:
        sim._oauth_of, sim._oauth = sim.users, Obj(agreed=set(), codes={}, tokens={}, refresh={}, viewer=None)
    return sim._oauth


@route("GET", "/oauth2/authorize", auth=False)
async def r_authorize(r: Req):
    """With prompt=none somebody who agreed before, as who the control API says is looking, is led back at once."""
    state, query = oauth(r.sim), dict(r.q)
    if query.get("client_id") != r.sim.client_id or query.get("response_type") != "code":
        raise ApiErr(400, 50035, "Invalid OAuth2 client")
    viewer = state.viewer
    if query.get("prompt") == "none" and (viewer, query.get("scope")) in state.agreed:
        return 302, _back(r, query, viewer)
    hidden = "".join(
        f'<input type="hidden" name="{html.escape(key)}" value="{html.escape(value)}">'
        for key, value in query.items()
    )
    people = [user for user in r.sim.users.values() if not user.bot]
    buttons = "".join(
        f'<button name="user" value="{user.id}">Authorize as {html.escape(user.username)}</button>'
        for user in people
    )
    scope = html.escape(query.get("scope", ""))
    return 200, Page(PAGE.format(name="Musebot", scope=scope, hidden=hidden, buttons=buttons))


@route("POST", "/oauth2/authorize", auth=False)
async def r_agree(r: Req):
    query = r.form
    if query.get("deny"):
        return 302, Redirect(_address(query, error="access_denied", state=query.get("state", "")))
    state = oauth(r.sim)
    state.viewer = int(query["user"])
    state.agreed.add((state.viewer, query.get("scope")))
    return 302, _back(r, query, state.viewer)


def _back(r: Req, query, user_id: int) -> Redirect:
    code = secrets.token_urlsafe(16)
    oauth(r.sim).codes[code] = Obj(
        user_id=user_id,
        redirect=query.get("redirect_uri"),
        scope=query.get("scope", ""),
        challenge=query.get("code_challenge"),
        until=r.sim.now() + 60,
    )
    return Redirect(_address(query, code=code, state=query.get("state", "")))


def _address(query, **values: str) -> str:
    return f"{query['redirect_uri']}?{urllib.parse.urlencode(values)}"


@route("POST", "/oauth2/token", auth=False)
async def r_token(r: Req):
    form, state = r.form, oauth(r.sim)
    if form.get("client_id") != r.sim.client_id or form.get("client_secret") != r.sim.client_secret:
        return 401, {"error": "invalid_client"}
    code = state.codes.pop(form.get("code"), None)
    if form.get("grant_type") != "authorization_code" or code is None or code.until < r.sim.now():
        return 400, {"error": "invalid_grant"}
    if code.redirect != form.get("redirect_uri") or not _verified(code.challenge, form.get("code_verifier")):
        return 400, {"error": "invalid_grant"}
    token = secrets.token_urlsafe(24)
    state.tokens[token] = Obj(user_id=code.user_id, scope=set(code.scope.split()), until=r.sim.now() + 604800)
    return 200, {
        "access_token": token,
        "token_type": "Bearer",
        "expires_in": 604800,
        "refresh_token": secrets.token_urlsafe(24),
        "scope": code.scope,
    }


def _verified(challenge: str | None, verifier: str | None) -> bool:
    if challenge is None:
        return True
    digest = hashlib.sha256((verifier or "").encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=") == challenge


def bearer(r: Req, scope: str) -> int | None:
    """The person whose token the request bears; None without one. Fails as Discord does."""
    header = r.web.headers.get("Authorization", "")
    if not header.startswith("Bearer "):
        return None
    token = oauth(r.sim).tokens.get(header[7:])
    if token is None or token.until < r.sim.now() or token.user_id not in r.sim.users:
        raise unauthorized()
    if scope not in token.scope:
        raise ApiErr(403, 50026, "Missing required OAuth2 scope")
    return token.user_id


def me(r: Req, user_id: int):
    user = r.sim.users[user_id]
    return dict(
        r.sim.user_d(user_id),
        mfa_enabled=bool(user.get("mfa_enabled")),
        locale="en-US",
        banner=None,
        accent_color=None,
        flags=0,
    )


def guilds(r: Req, user_id: int):
    return [
        {
            "id": str(guild.id),
            "name": guild.name,
            "icon": None,
            "owner": guild.owner_id == user_id,
            "features": [],
            "permissions": str(r.sim.perms(guild, user_id)),
        }
        for guild in sorted(r.sim.guilds.values(), key=lambda guild: guild.id)
        if user_id in guild.members
    ]
