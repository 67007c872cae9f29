"""What the frame of every page needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from memory import selectors
from memory.selectors import GuildRow
from musebot_site.dashboard.http import may_enter, scope

THEMES = ("system", "light", "dark")


@dataclass(frozen=True, slots=True)
class NavigationItem:
    label: str
    href: str
    icon: str
    active: bool
    count: int | None = None


PAGES = (
    ("Overview", "dashboard:overview", "home", ""),
    ("Memories", "dashboard:memories", "memories", "memories"),
    ("Members", "dashboard:members", "members", "members"),
    ("Facts", "dashboard:facts", "facts", "facts"),
    ("Core memory", "dashboard:core-memory", "core", ""),
    ("Documents", "dashboard:documents", "documents", "documents"),
    ("Playground", "dashboard:playground", "playground", ""),
    ("Replies", "dashboard:replies", "replies", ""),
    ("Evaluation", "dashboard:evaluation", "evaluation", ""),
    ("Servers", "dashboard:servers", "server", ""),
    ("Jobs", "dashboard:jobs", "jobs", ""),
    ("Erasures", "dashboard:erasures", "erase", "erasures"),
)


class Frame:
    """Read when a template asks for it: a part of a page needs none of it."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request

    @cached_property
    def entered(self) -> bool:
        user = getattr(self.request, "user", None)
        return user is not None and user.is_authenticated and may_enter(user)

    @cached_property
    def theme(self) -> str:
        theme = self.request.COOKIES.get("theme", "")
        return theme if theme in THEMES else "system"

    @cached_property
    def guilds(self) -> list[GuildRow]:
        return selectors.guilds()

    @cached_property
    def guild(self) -> GuildRow | None:
        chosen = scope(self.request)  # type: ignore[arg-type]
        return selectors.guild(chosen) if chosen is not None else None

    @cached_property
    def navigation(self) -> list[NavigationItem]:
        counts = selectors.rail_counts()
        path = self.request.path
        items = []
        for label, name, icon, count in PAGES:
            href = reverse(name)
            active = path == href if href == "/" else path.startswith(href)
            number = counts.get(count) if count else None
            items.append(
                NavigationItem(label, href, icon, active, None if icon == "erase" and not number else number)
            )
        return items


def frame(request: HttpRequest) -> dict[str, Any]:
    return {"frame": Frame(request)}
