"""Which channels a server has, archived threads included, and which of them the bot may read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from botrunner.raw import CATEGORY, KINDS, Reader, channel_info
from botrunner.rest import Forbidden, Missing, Rest
from memory.capture.backfill import ListedChannel
from memory.types import ChannelInfo, GuildInfo

ADMINISTRATOR = 1 << 3
VIEW = 1 << 10
HISTORY = 1 << 16
CONNECT = 1 << 20
MANAGE_THREADS = 1 << 34
WITH_THREADS = frozenset({0, 5, 15, 16})
WITH_PRIVATE_THREADS = frozenset({0})
VOICE = frozenset({2, 13})
PRIVATE_THREAD = 12

NO_VIEW = "no_view"
NO_HISTORY = "no_history"
NO_CONNECT = "no_connect"


@dataclass(frozen=True, slots=True)
class Server:
    """What decides what the bot may read."""

    info: GuildInfo
    owner_id: int
    bot_id: int
    bot_roles: frozenset[int]
    role_permissions: Mapping[int, int]
    role_names: Mapping[int, str] = field(default_factory=dict)

    def reader(self, people: Mapping[int, str]) -> Reader:
        return Reader(self.bot_id, people, self.bot_roles, self.role_names)

    def permissions(self, overwrites: Iterable[Mapping[str, Any]]) -> int:
        """The bot's permissions in a channel with these overwrites, by Discord's rules."""
        everybody = self.role_permissions.get(self.info.id, 0)
        base = everybody
        for role in self.bot_roles:
            base |= self.role_permissions.get(role, 0)
        if base & ADMINISTRATOR or self.bot_id == self.owner_id:
            return (1 << 60) - 1
        rules = {int(one["id"]): (int(one["allow"]), int(one["deny"])) for one in overwrites}
        allow, deny = rules.get(self.info.id, (0, 0))
        base = (base & ~deny) | allow
        allow = deny = 0
        for role in self.bot_roles & rules.keys():
            allow |= rules[role][0]
            deny |= rules[role][1]
        base = (base & ~deny) | allow
        allow, deny = rules.get(self.bot_id, (0, 0))
        return (base & ~deny) | allow

    def why_not(self, channel: Mapping[str, Any]) -> str:
        """Why the bot may not read a channel back. Discord itself would not say: it answers with an empty list."""
        permissions = self.permissions(channel.get("permission_overwrites", ()))
        if not permissions & VIEW:
            return NO_VIEW
        if int(channel["type"]) in VOICE and not permissions & CONNECT:
            return NO_CONNECT
        return "" if permissions & HISTORY else NO_HISTORY


async def load_server(rest: Rest, guild_id: int, bot_id: int) -> Server:
    """Raises ``Forbidden`` or ``Missing`` where the bot is not on that server."""
    bucket = f"guild:{guild_id}"
    guild = await rest.get(f"/guilds/{guild_id}", bucket=bucket)
    me = await rest.get(f"/guilds/{guild_id}/members/{bot_id}", bucket=f"{bucket}:member")
    return Server(
        info=GuildInfo(id=int(guild["id"]), name=str(guild["name"])),
        owner_id=int(guild.get("owner_id") or 0),
        bot_id=bot_id,
        bot_roles=frozenset(int(role) for role in me["roles"]),
        role_permissions={int(role["id"]): int(role["permissions"]) for role in guild["roles"]},
        role_names={int(role["id"]): str(role["name"]) for role in guild["roles"]},
    )


async def list_channels(
    rest: Rest, server: Server, *, archived_since: datetime | None
) -> list[ListedChannel]:
    """Every channel and thread of a server that people write in, and the forums that hold such threads."""
    guild_id = server.info.id
    found = await rest.get(f"/guilds/{guild_id}/channels", bucket=f"guild:{guild_id}:channels")
    raw = [one for one in found if int(one["type"]) in KINDS]
    categories = {
        int(one["id"]): ChannelInfo(int(one["id"]), str(one.get("name") or ""), "category")
        for one in found
        if int(one["type"]) == CATEGORY
    }
    infos = {int(one["id"]): channel_info(one, categories=categories) for one in raw}
    why = {int(one["id"]): server.why_not(one) for one in raw}
    listed = [ListedChannel(infos[id], why[id], _newest(one)) for one in raw for id in [int(one["id"])]]
    active = await rest.get(f"/guilds/{guild_id}/threads/active", bucket=f"guild:{guild_id}:threads")
    threads: dict[int, dict[str, Any]] = {int(one["id"]): one for one in active["threads"]}
    for one in raw:
        if int(one["type"]) in WITH_THREADS and not why[int(one["id"])]:
            for thread in await _archived(rest, server, one, archived_since):
                threads.setdefault(int(thread["id"]), thread)
    for thread in threads.values():
        listed.append(_thread(thread, infos, why))
    return listed


def _thread(
    data: Mapping[str, Any], parents: Mapping[int, ChannelInfo], why: Mapping[int, str]
) -> ListedChannel:
    parent_id = int(data.get("parent_id") or 0)
    parent = parents.get(parent_id)
    # A thread whose parent is not listed inherits nothing that is known, so it is not read.
    reason = why[parent_id] if parent is not None else "no_parent"
    return ListedChannel(channel_info(data, parent or ChannelInfo(id=parent_id)), reason, _newest(data))


def _newest(data: Mapping[str, Any]) -> int | None:
    """Discord leaves the id out where nothing was ever written."""
    return int(data.get("last_message_id") or 0)


async def _archived(
    rest: Rest, server: Server, channel: Mapping[str, Any], since: datetime | None
) -> Sequence[dict[str, Any]]:
    """Archived threads of one channel: the public ones, and private ones as far as the bot may see them."""
    channel_id = int(channel["id"])
    found = await _pages(rest, f"/channels/{channel_id}/threads/archived/public", channel_id, since)
    if int(channel["type"]) in WITH_PRIVATE_THREADS:
        permissions = server.permissions(channel.get("permission_overwrites", ()))
        if permissions & MANAGE_THREADS:
            path, by_id = f"/channels/{channel_id}/threads/archived/private", False
        else:
            path, by_id = f"/channels/{channel_id}/users/@me/threads/archived/private", True
        found += await _pages(rest, path, channel_id, since, by_id=by_id)
    return found


async def _pages(
    rest: Rest, path: str, channel_id: int, since: datetime | None, *, by_id: bool = False
) -> list[dict[str, Any]]:
    """All pages of a list of threads, newest first, back to ``since``."""
    found: list[dict[str, Any]] = []
    query: dict[str, str | int] = {"limit": 100}
    bucket = f"{path.rpartition('/threads')[2]}:{channel_id}"
    while True:
        try:
            answer = await rest.get(path, bucket=bucket, **query)
        except (Forbidden, Missing):
            return found
        threads = answer["threads"]
        found += threads
        if not threads or not answer.get("has_more"):
            return found
        last = threads[-1]
        archived = last["thread_metadata"]["archive_timestamp"]
        if since is not None and not by_id and datetime.fromisoformat(archived) < since:
            return found
        query["before"] = last["id"] if by_id else archived
