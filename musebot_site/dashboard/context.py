"""What the frame of every page needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from memory import selectors
from memory.selectors import GuildRow
from musebot_site.dashboard.http import allowed_servers, own_servers, scope
from musebot_site.dashboard.permissions import Permission, rights

THEMES = ("system", "light", "dark")


@dataclass(frozen=True, slots=True)
class NavigationItem:
    label: str
    href: str
    icon: str
    active: bool
    count: int | None = None


PAGES = (
    ("Overview", "dashboard:overview", "home", "", Permission.FIGURES),
    ("Memories", "dashboard:memories", "memories", "memories", Permission.MEMORIES),
    ("Members", "dashboard:members", "members", "members", Permission.MEMBERS),
    ("Facts", "dashboard:facts", "facts", "facts", Permission.FACTS),
    ("Core memory", "dashboard:core-memory", "core", "", Permission.CORE_MEMORY),
    ("Documents", "dashboard:documents", "documents", "documents", Permission.DOCUMENTS),
    ("Playground", "dashboard:playground", "playground", "", Permission.PLAYGROUND),
    ("Replies", "dashboard:replies", "replies", "", Permission.REPLIES),
    ("Evaluation", "dashboard:evaluation", "evaluation", "", Permission.EVALUATION),
    ("Servers", "dashboard:servers", "server", "", Permission.SERVERS),
    ("Settings", "dashboard:settings", "settings", "", Permission.SETTINGS),
    ("Jobs", "dashboard:jobs", "jobs", "", Permission.JOBS),
    ("Erasures", "dashboard:erasures", "erase", "erasures", Permission.ERASURES),
    ("Audit", "dashboard:audit", "audit", "", Permission.AUDIT),
    ("Accounts", "dashboard:accounts", "user", "", Permission.ACCOUNTS),
)


class Frame:
    """Read when a template asks for it: a part of a page needs none of it."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request

    @cached_property
    def entered(self) -> bool:
        return rights(self.request).may(Permission.ENTER)

    @cached_property
    def may(self) -> dict[str, bool]:
        """Permissions by name, for links to pages that not everybody may open."""
        held = rights(self.request)
        return {permission.value: held.may(permission) for permission in Permission}

    @cached_property
    def limited(self) -> bool:
        """Whether the page shows some servers only, so that "all servers" is no choice."""
        return allowed_servers(self.request) is not None

    @cached_property
    def theme(self) -> str:
        theme = self.request.COOKIES.get("theme", "")
        return theme if theme in THEMES else "system"

    @cached_property
    def guilds(self) -> list[GuildRow]:
        return own_servers(self.request)

    @cached_property
    def guild(self) -> GuildRow | None:
        if not self.guilds:
            return None
        chosen = scope(self.request)  # type: ignore[arg-type]
        return selectors.guild(chosen) if chosen is not None else None

    @cached_property
    def navigation(self) -> list[NavigationItem]:
        counts = self._counts()
        path = self.request.path
        items = []
        for label, name, icon, count, permission in PAGES:
            if not self.may[permission.value]:
                continue
            href = reverse(name)
            active = path == href if href == "/" else path.startswith(href)
            number = counts.get(count) if count else None
            items.append(
                NavigationItem(label, href, icon, active, None if icon == "erase" and not number else number)
            )
        return items

    def _counts(self) -> dict[str, int]:
        """Somebody who may see some servers only is told the counts of the one that the page is about."""
        if not self.limited:
            return selectors.rail_counts()
        return selectors.rail_counts(self.guild.id) if self.guild is not None else {}


def frame(request: HttpRequest) -> dict[str, Any]:
    return {"frame": Frame(request)}
