"""Links of an answer: one may be pressed only if its address stands in what was retrieved, and it shows where it leads.

Whoever can have a model repeat something could have it send people anywhere, or carry what it knows away in an address. So an
address that was not retrieved stays readable and leads nowhere, and a name that hides an address is set beside it. What counts as
an address is what Discord makes one of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 2_000
"""Characters; what is longer is no address that anybody presses."""
SLASHES = "∶⁄⁄"
"""Stands in place of ``://`` in an address that must not lead anywhere."""

_SCHEMES = ("https://", "http://", "steam://", "discord://")
_HOSTS = (
    "discord.gg/",
    "discord.com/invite/",
    "discordapp.com/invite/",
    "discord.new/",
    "discord.gift/",
    "dsc.gg/",
    "discord.me/",
    "disboard.org/server/",
)
"""Invitations are links even without a scheme."""
_ADDRESS = re.compile(r"(https?|steam|discord)://([^\s<]*)", re.IGNORECASE)
_INVITE = re.compile(rf"(?<![/⁄])({'|'.join(map(re.escape, _HOSTS))})([^\s<`]+)", re.IGNORECASE)
_HIDDEN = re.compile(r"\]\((?=\s*<?\s*(?:[a-z][a-z0-9+.\-]*:|[\w.\-]+/))", re.IGNORECASE)
_TICKS = re.compile(r"`+")
_END = ".,;:!?'\"*_~|)]}>…"
_UNFINISHED = re.compile(
    r"(?:https?|steam|discord)://[^\s<]*\Z|\](?:\(\s*<?\s*[^\s<]*)?\Z|`+\Z"
    rf"|(?:{'|'.join(map(re.escape, _HOSTS))})[^\s<`]*\Z",
    re.IGNORECASE,
)
_STARTS = (*_SCHEMES, *_HOSTS)
_MOST_AHEAD = max(map(len, _STARTS))


def addresses(text: str) -> set[str]:
    """Addresses in a text, in the form in which they are compared."""
    found: set[str] = set()
    for one in _ADDRESS.finditer(text):
        # Written close together, or as the name of a link, one begins within another.
        for part in re.split(r"(?=(?:https?|steam|discord)://)", one[0], flags=re.IGNORECASE):
            scheme, _, rest = part.partition("://")
            for end in {rest, rest.partition("](")[0], re.split(r"[\"`>]", rest)[0]}:
                found.add(_same(f"{scheme}://{_trimmed(end)}"))
    found |= {_same(f"https://{one[1]}{_trimmed(one[2])}") for one in _INVITE.finditer(text)}
    return {one for one in found if not one.endswith("://")}


def _same(address: str) -> str:
    """Scheme and host in lower case, no slash at the end."""
    scheme, _, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}://{(host.lower() + slash + path).rstrip('/')}"


def _trimmed(rest: str) -> str:
    """Without the punctuation that ends a sentence, and with as many closing brackets as were opened."""
    while rest and rest[-1] in _END and not (rest[-1] == ")" and rest.count("(") >= rest.count(")")):
        rest = rest[:-1]
    return rest


class LinkFilter:
    """Fed with pieces of an answer; gives back what may be shown. Code blocks are left alone: nothing in them can be pressed."""

    def __init__(self, retrieved: Iterable[str]) -> None:
        self._given = frozenset[str]().union(*map(addresses, retrieved))
        self._held = ""
        self._before = ""
        """The character before the text that is looked at next."""
        self._fenced = False
        self._strange = False
        """Rows of backticks that are read in more than one way: from there on nothing is taken for code."""
        self._lone = [0, 0]
        """Single and double backticks outside of code blocks so far: an odd one may pair with what looks like a block."""

    def feed(self, piece: str) -> str:
        """What may be shown of the text so far and was not yet."""
        text = self._held + piece
        start = _unfinished(text)
        self._held = text[start:]
        return self._checked(text[:start])

    def flush(self) -> str:
        """The rest, at the end of the answer."""
        held, self._held = self._held, ""
        return self._checked(held)

    def _checked(self, text: str) -> str:
        shown, last, before = [], 0, self._before
        self._before = text[-1:] or before
        for ticks in _TICKS.finditer(text):
            size = len(ticks[0])
            closes = size < 3 and self._lone[size - 1] % 2 == 1
            shown += [self._part(text[last : ticks.start()], before, goes_on=not closes), ticks[0]]
            last, before = ticks.end(), "`"
            if size > 3:
                self._strange = True
            elif size == 3:
                self._fenced = not self._fenced
            elif not self._fenced:
                self._lone[size - 1] += 1
        return "".join((*shown, self._part(text[last:], before, goes_on=False)))

    def _part(self, text: str, before: str, *, goes_on: bool) -> str:
        """``goes_on``: a mark of code follows that an address at the end would take in."""
        if self._fenced and not self._strange and not any(count % 2 for count in self._lone):
            return text
        text = _HIDDEN.sub("] (", text)
        end = len(text) if goes_on else -1
        text = _ADDRESS.sub(lambda found: self._address(found, cut=found.end() == end), text)
        # Behind a slash it is a part of a path, wherever the answer was cut into pieces.
        shown = _INVITE.sub(self._invite, before + text)
        return shown[len(before) :]

    def _address(self, found: re.Match[str], *, cut: bool) -> str:
        if not cut and self._was_retrieved(f"{found[1]}://{_trimmed(found[2])}"):
            return found[0]
        return found[0].replace("://", SLASHES).replace("/", "⁄")

    def _invite(self, found: re.Match[str]) -> str:
        if self._was_retrieved(f"https://{found[1]}{_trimmed(found[2])}"):
            return found[0]
        return found[0].replace("/", "⁄")

    def _was_retrieved(self, address: str) -> bool:
        """Whether it is one of them, or one cut short where a part of its path ends."""
        if len(address) > LONGEST or address.count("://") > 1:
            return False
        same = _same(address)
        return any(one == same or (one.startswith(same) and one[len(same)] in "/?#") for one in self._given)


def _unfinished(text: str) -> int:
    """Where something begins that may become an address, hidden or not, or a mark of code; the end if nothing does."""
    since = max(0, len(text) - LONGEST - _MOST_AHEAD)
    found = _UNFINISHED.search(text, since)
    start = found.start() if found else len(text)
    low = text[-_MOST_AHEAD:].lower()
    for length in range(len(low), 0, -1):
        if any(one.startswith(low[-length:]) for one in _STARTS):
            start = min(start, len(text) - length)
            break
    return _not_within(text, start, since)


def _not_within(text: str, start: int, since: int) -> int:
    """``start``, or where the address begins that it would cut in two."""
    for pattern in (_ADDRESS, _INVITE):
        for one in pattern.finditer(text, since):
            if one.start() < start < one.end():
                return _not_within(text, one.start(), since)
    return start


def without_hidden_links(text: str) -> str:
    """A quotation in which every address shows: its words were retrieved, its form is not to mislead."""
    links = LinkFilter([text])
    return links.feed(text) + links.flush()
