"""What a fact says about which side of a member, so that a new value can take the place of the old one.

Patterns, not a model: each decision can be explained by the attribute that two facts share. What no pattern knows is compared by
its words alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from memory.facts.patterns import RULES, SINGULAR, SPECIES_NAMES
from memory.facts.text import FUNCTION_WORDS, alike, clean, content_words, fold, word_set, words

Relation = Literal["same", "refines", "covered", "changes", "conflicts", ""]
"""Of a new fact to an old one: says the same; says more; says less; has the place of it; may contradict it; has nothing to do with it."""


@dataclass(frozen=True, slots=True)
class Attribute:
    kind: str
    """``home``, ``employer``, ``favourite:colour`` …"""
    value: tuple[str, ...]
    sure: bool = True
    """There is one value at a time; otherwise there may be several."""
    negated: bool = False
    exact: bool = False
    """Names and numbers: other spellings are other values."""


_SELF = re.compile(
    r"^\W*(?:the |this |el |la )?(?:user|member|person|speaker|usuari[oa]|miembro|they|he|she|i|i'?m|ella|él)\b(?:'s|’s)?(?:\s+(?:is|are|am))?(?:\s+(?:now|currently|also|still))?\s+"
    r"|^\W*(?:the (?:user|member)(?:'s|’s)|their|his|her|my|su|sus|mi)\s+|^\W*(?:is|are|am|está|estoy)\s+(?:now|currently|ahora)\s+",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"\b(?:no longer|not|doesn'?t|does not|don'?t|do not|isn'?t|aren'?t|never|no|stopped|quit|left|used to|formerly|former|previously|"
    r"sold|lost|ended|ya no|nunca|dejó(?: de)?|antes|without|nicht|kein(?:e|en)?|ne|pas|não)\b",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"\s*[,;(.!]?\s*\b(?:since|because|instead of|rather than|not|no longer|formerly|previously|after|before|as of|starting|now|these days|"
    r"anymore|any more|at the moment|from|with (?:his|her|their)|and (?:works|lives|has|likes|studies|is)|desde|porque|en vez de|ahora|actualmente|ya|y (?:vive|trabaja|tiene))\b.*$"
    r"|\s*[,;(].*$|[.!]+$",
    re.IGNORECASE,
)
_ARTICLES = word_set("a an the un una el la los las some his her their my su mi new")
_TASTE = re.compile(
    r"^(?P<no>(?:does ?n.t|does not|do ?n.t|do not|no longer|no|ya no|never|nunca) )?(?:le |les )?(?:really |also |still |mostly |absolutely )?"
    r"(?P<verb>likes?|loves?|enjoys?|adores?|is (?:a fan of|fond of|into|interested in)|dislikes?|hates?|detests?|can.?t stand|cannot stand|gustan?|encantan?|odia)\s+(?P<v>.+)",
    re.IGNORECASE,
)
_AGAINST = re.compile(r"^(?:dislike|hate|detest|can.?t|cannot|odia)", re.IGNORECASE)
_OVER = re.compile(
    r"\bpre(?:fers?|fiere)\s+(?P<v>.+?)\s+(?:over|to|rather than|instead of|a|antes que|en vez de)\s+(?P<o>.+)",
    re.IGNORECASE,
)
_IS = re.compile(
    r"^(?P<k>(?:[\w'áéíóúñ]+ ){0,2}[\w'áéíóúñ]+) (?:is|are|es|son)(?: now| ahora)?\s+(?P<v>.+)", re.IGNORECASE
)


def without_subject(text: str, names: Iterable[str] = ()) -> str:
    """The fact without ``The user``, ``They`` or the member's own name in front."""
    plain = clean(text).strip(" \t-•*\"'")
    for name in names:
        start = re.match(rf"{re.escape(name)}(?:['’]s)?\s+", plain, re.IGNORECASE) if name else None
        if start:
            plain = plain[start.end() :]
            break
    before = None
    while before != plain:
        before = plain
        shorter = _SELF.sub("", plain, count=1)
        plain = shorter if shorter.strip() else plain
    return plain


def parse(text: str, names: Iterable[str] = ()) -> tuple[Attribute, ...]:
    """What the fact says; empty if no pattern knows it."""
    plain = without_subject(text, names)
    found: dict[str, Attribute] = {}
    taste = _taste(plain)
    for kind, pattern, sure, exact in RULES:
        match = pattern.search(plain)
        if match is None:
            continue
        parts = match.groupdict()
        name = f"{kind}:{_key(parts['k'])}" if parts.get("k") else kind
        value = _value(kind, parts.get("v") or "")
        if name in found or (not value and kind != "pet"):
            continue
        negated = bool(_NEGATION.search(plain[: match.start("v") if parts.get("v") else match.end()]))
        found[name] = Attribute(name, value, sure, negated, exact)
    if found:
        return tuple(found.values())
    return taste or _general(plain)


def _taste(plain: str) -> tuple[Attribute, ...]:
    if (over := _OVER.search(plain)) and not _NEGATION.match(plain):
        pair = sorted([_tokens(over["v"])[:3], _tokens(_TAIL.sub("", over["o"]))[:3]])
        return (Attribute(f"preference:{pair}", _tokens(over["v"])),)
    match = _TASTE.match(plain)
    if match is None:
        return ()
    against = bool(_AGAINST.match(match["verb"])) != bool(match["no"])
    return (Attribute("taste", _tokens(_TAIL.sub("", match["v"])), True, against),)


def _general(plain: str) -> tuple[Attribute, ...]:
    match = _IS.match(plain)
    if match is None:
        return ()
    key = [word for word in words(match["k"]) if word not in FUNCTION_WORDS]
    if not key or _NEGATION.fullmatch(match["k"].strip()):
        return ()
    key = " ".join(key).replace("time zone", "timezone").split()
    sure = set(key) <= SINGULAR
    negated = bool(re.match(r"(?:not|no longer|no)\b", match["v"], re.IGNORECASE))
    return (Attribute(f"of:{' '.join(key)}", _tokens(_TAIL.sub("", match["v"])), sure, negated),)


def _value(kind: str, text: str) -> tuple[str, ...]:
    if kind in {"job", "studies"}:
        text = re.split(r"\s+(?:at|for|in|with|en|bei|para)\s+", text, maxsplit=1)[0]
    if kind == "employer":
        text = re.split(r"\s+(?:as|in|como)\s+", text, maxsplit=1)[0]
    if kind == "pronouns":
        return tuple(word for word in words(text.replace("/", " ")) if word not in {"pronouns", "and", "or"})[
            :3
        ]
    return _tokens(_TAIL.sub("", text))


def _tokens(text: str) -> tuple[str, ...]:
    return tuple(word for word in words(text) if word not in _ARTICLES)


def _key(text: str) -> str:
    plain = fold(text.strip().casefold())
    single = plain[:-1] if plain.endswith("s") and len(plain) > 3 else plain
    return SPECIES_NAMES.get(single, single.replace("colour", "color"))


def relate(new: str, old: str, names: Iterable[str] = ()) -> Relation:
    """How a new fact stands to an old one of the same member."""
    names = tuple(names)
    ours, theirs = parse(new, names), parse(old, names)
    shared = [(mine, other) for mine in ours for other in theirs if mine.kind == other.kind]
    relations = {_compare(mine, other) for mine, other in shared}
    for relation in ("changes", "conflicts", "refines"):
        if relation in relations:
            return relation
    if shared and relations <= {"same", "covered"}:
        if len(shared) == len(ours):
            return "covered" if "covered" in relations or len(ours) < len(theirs) else "same"
        return "refines" if len(shared) == len(theirs) else ""
    return _by_words(new, old, names)


def _compare(new: Attribute, old: Attribute) -> Relation:
    if new.kind.startswith("taste"):
        if not _same(new, old):
            return ""
        return "same" if new.negated == old.negated else "changes"
    if new.negated or old.negated:
        if new.negated == old.negated:
            return "same" if _same(new, old) else ""
        near = _same(new, old) or _inside(new, old) or _inside(old, new) or not (new.value and old.value)
        return "changes" if near else ""
    if _same(new, old):
        return "same"
    if _inside(old, new):
        return "refines"
    if _inside(new, old):
        return "covered"
    return "changes" if new.sure else "conflicts"


def _same(one: Attribute, other: Attribute) -> bool:
    return len(one.value) == len(other.value) and _inside(one, other)


def _inside(part: Attribute, whole: Attribute) -> bool:
    if part.exact:
        return {fold(word) for word in part.value} <= {fold(word) for word in whole.value}
    return all(any(alike(word, other) for other in whole.value) for word in part.value)


_NEGATORS = word_set("no not never longer dont doesnt isnt arent cant anymore ya nunca without stopped quit")


def _by_words(new: str, old: str, names: tuple[str, ...]) -> Relation:
    """What no pattern knows: the same words, once with a negation and once without."""
    mine, theirs = words(without_subject(new, names)), words(without_subject(old, names))
    if bool(_NEGATORS & set(mine)) == bool(_NEGATORS & set(theirs)):
        return ""
    bare = [content_words(" ".join(word for word in one if word not in _NEGATORS)) for one in (mine, theirs)]
    if not bare[0] or len(bare[0]) != len(bare[1]):
        return ""
    verbs = [
        [word for word in one if word not in _NEGATORS and word not in FUNCTION_WORDS]
        for one in (mine, theirs)
    ]
    same = all(any(alike(word, other) for other in verbs[1]) for word in verbs[0])
    return "changes" if same else ""
