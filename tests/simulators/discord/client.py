"""DiscordSim: starts the simulator as a process of its own and drives its control API."""

from __future__ import annotations

import http.client
import json
import sys
import urllib.parse

from ..process import start_module, stop_process

INFO = ("api_base", "gateway_url", "cdn_base", "token", "bot_id", "base", "port", "owner_id")


class DiscordSim:
    """Starts the simulator as a separate process and talks to its control API (synchronously)."""

    def __init__(self, proc, info):
        self.proc, self.info = proc, info
        self.__dict__.update({k: info[k] for k in INFO})

    @classmethod
    def start(cls, *args, python=sys.executable):
        """Arguments are those of the command line, e.g. "--rate-profile", "fast"."""
        return cls(*start_module("tests.simulators.discord", *args, python=python))

    @classmethod
    def attach(cls, base):
        u = urllib.parse.urlparse(base)
        c = http.client.HTTPConnection(u.hostname, u.port)
        c.request("GET", "/sim/info")
        return cls(None, json.loads(c.getresponse().read()))

    def __enter__(self):
        return self

    def __exit__(self, *a):
        self.stop()

    def stop(self):
        stop_process(self.proc)

    def call(self, method, path, body=None, timeout=120, **query):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        q = "?" + urllib.parse.urlencode(query) if query else ""
        try:
            c.request(
                method,
                "/sim" + path + q,
                json.dumps(body).encode() if body is not None else None,
                {"Content-Type": "application/json"},
            )
            r = c.getresponse()
            d = json.loads(r.read())
        finally:
            c.close()
        if r.status >= 400:
            raise RuntimeError(f"{method} /sim{path}: {r.status} {d.get('error')}")
        return d

    def get(self, path, **q):
        return self.call("GET", path, **q)

    def post(self, path, **body):
        return self.call("POST", path, body)

    # -- the most used things
    def user(self, name, **kw):
        return self.post("/users", username=name, **kw)["id"]

    def guild(self, name="Guild", **kw):
        return self.post("/guilds", name=name, **kw)

    def say(self, channel, user, content="", **kw):
        return self.post(f"/channels/{channel}/messages", user_id=user, content=content, **kw)

    def preload(self, channel, count, users, **kw):
        return self.post(f"/channels/{channel}/preload", count=count, users=users, **kw)

    def invoke(self, channel, user, command, **kw):
        return self.post("/interactions", channel_id=channel, user_id=user, command=command, **kw)

    def wait_sent(self, **kw):
        r = self.post("/wait", **kw)
        if not r["ok"]:
            raise AssertionError(
                f"the bot sent nothing that matches {kw}; it sent: {self.get('/sent')['sent'][-5:]}"
            )
        return r["sent"]

    def sent(self, **kw):
        return self.get("/sent", **kw)["sent"]

    def wait_ready(self, timeout=30, commands=False):
        if not self.post("/wait_ready", timeout=timeout, commands=commands)["ok"]:
            raise AssertionError("the bot did not connect")

    def fault(self, match, **kw):
        return self.call("POST", "/faults", dict(kw, match=match))

    def gateway(self, action, **kw):
        return self.post(f"/gateway/{action}", **kw)

    def requests(self):
        return self.get("/requests")

    def env(self):
        """What the product needs in its environment."""
        return {
            "DISCORD_API_BASE": self.api_base,
            "DISCORD_GATEWAY_URL": self.gateway_url,
            "DISCORD_CDN_BASE": self.cdn_base,
            "DISCORD_TOKEN": self.token,
        }
