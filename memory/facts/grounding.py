"""Whether a member's message says what a model claims that it says.

Each word that carries the claim is looked for in the message, clause by clause: a clause may deny it, ask it, wish it, or be about
somebody else. A claim whose words the message does not hold was not made there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from memory.facts.attributes import parse, without_subject
from memory.facts.speech import (
    ABOUT_OTHERS,
    CLAIMS_KIND,
    CLAUSE,
    CODE,
    CUE,
    DENIES,
    FIRST_PERSON,
    NAMED,
    NEGATIVE_FACT,
    NO_NAMES,
    NUMBERS,
    OLD_NEW,
    OWN_PLANS,
    PAST_OF_FACT,
    QUOTE,
    RELATION,
    SOMETHING_ELSE,
    UNSURE,
    VERBS,
)
from memory.facts.text import FUNCTION_WORDS, alike, clean, content_words, fold, words

Support = Literal["said", "partly", "uncertain", "denied", "others", "unsaid"]


def own_words(message: str) -> str:
    """The message without what it quotes from somebody else, and without code."""
    return CODE.sub(" ", QUOTE.sub(" ", message)).strip()


def is_correction(message: str) -> bool:
    """Whether the message speaks of a change or a mistake."""
    return bool(CUE.search(clean(own_words(message))))


def support(fact: str, message: str, names: Iterable[str] = ()) -> Support:
    """How far the message says what the fact says.

    ``said``: all of it. ``partly``: most of its words. ``uncertain``: as a wish, a plan or a question. ``denied``: the opposite, or
    of the past. ``others``: of somebody else. ``unsaid``: its words are not there.
    """
    names = tuple(names)
    claim = _claim(fact, names)
    clauses = [clause for clause in CLAUSE.split(own_words(message)) if clause and clause.strip()]
    if not claim or not clauses:
        return "unsaid"
    verdicts = [_word(word, fact, clauses, names) for word in claim]
    for worst in ("denied", "others"):
        if worst in verdicts:
            return worst
    missing = [word for word, verdict in zip(claim, verdicts, strict=True) if verdict == "unsaid"]
    if missing:
        specific = any(_is_specific(word, fact, names) for word in missing)
        return "unsaid" if specific or len(missing) * 2 >= len(claim) else "partly"
    if "uncertain" in verdicts or not _is_said_as_such(fact, clauses, names):
        return "uncertain"
    return "said"


def _is_said_as_such(fact: str, clauses: list[str], names: tuple[str, ...]) -> bool:
    """Whether the message has the words in the sense of the fact: a place where one lives, not one that was visited."""
    for attribute in parse(fact, names):
        pattern = CLAIMS_KIND.get(attribute.kind)
        if pattern is None or not attribute.value:
            continue
        for position, clause in enumerate(clauses):
            if not any(
                _holds(clause, NUMBERS.get(word, word)) or _holds(clause, word) for word in attribute.value
            ):
                continue
            if pattern.search(clause):
                break
            before = clauses[position - 1] if position else ""
            after = clauses[position + 1] if position + 1 < len(clauses) else ""
            if re.match(r"\W*(?:where|which is where|donde)\b", after, re.IGNORECASE) and pattern.search(
                after
            ):
                break
            if pattern.search(before) and not SOMETHING_ELSE.search(clause):
                break
        else:
            return False
    return True


def _claim(fact: str, names: tuple[str, ...]) -> list[str]:
    plain = without_subject(fact, names)
    found = content_words(plain)
    for attribute in parse(fact, names):
        if attribute.kind in {"pronouns", "name", "nickname"}:
            found += [word for word in attribute.value if word not in found]
    if found:
        return found
    return [word for word in words(plain) if word not in FUNCTION_WORDS and not NEGATIVE_FACT.fullmatch(word)]


def _word(word: str, fact: str, clauses: list[str], names: tuple[str, ...]) -> Support:
    """The best that any clause with the word says of it."""
    best: Support = "unsaid"
    order: list[Support] = ["unsaid", "others", "denied", "uncertain", "said"]
    for clause in clauses:
        there = [NUMBERS.get(other, other) for other in words(clause)]
        if not any(alike(NUMBERS.get(word, word), other) for other in there):
            continue
        verdict = _in_clause(word, fact, clause, names)
        if order.index(verdict) > order.index(best):
            best = verdict
    return best


def _in_clause(word: str, fact: str, clause: str, names: tuple[str, ...]) -> Support:
    if _is_about_others(clause, word, fact, names):
        return "others"
    negative_fact = bool(NEGATIVE_FACT.search(fact))
    for pattern in OLD_NEW:
        match = pattern.search(clause)
        if match and _holds(match["old"], word) and not _holds(match["new"], word):
            return "said" if PAST_OF_FACT.search(fact) else "denied"
        if match and _holds(match["new"], word):
            return "denied" if negative_fact and not PAST_OF_FACT.search(fact) else "said"
        if match and not match["new"]:
            clause = clause[: match.start()] + clause[match.end() :]
    if clause.rstrip().endswith("?") and not FIRST_PERSON.search(clause):
        return "uncertain"
    if UNSURE.search(clause) and not OWN_PLANS.search(fact):
        return "uncertain"
    if bool(DENIES.search(clause)) != negative_fact and not _harmless(clause, fact):
        return "denied"
    return "said"


def _harmless(clause: str, fact: str) -> bool:
    """A negation that the clause has and that is no denial of the fact: ``not only``, ``why not``, or one that stands in the fact."""
    rest = re.sub(
        r"\bnot only\b|\bwhy not\b|\bno problem\b|\bno doubt\b|\bno way\b|\b\d+ years? old\b|\byears? old\b|\bold (?=\w)",
        " ",
        clause,
        flags=re.IGNORECASE,
    )
    if not DENIES.search(rest):
        return not NEGATIVE_FACT.search(fact)
    return False


def _holds(text: str, word: str) -> bool:
    return any(alike(word, other) for other in words(text))


def _is_about_others(clause: str, word: str, fact: str, names: tuple[str, ...]) -> bool:
    own = {fold(name).casefold() for name in names}
    about = ABOUT_OTHERS.search(clause)
    named = NAMED.search(clause)
    if named and (
        fold(named["name"]).casefold() in own | NO_NAMES
        or named["name"].lower() in FUNCTION_WORDS | VERBS
        or (
            alike(word, named["name"].casefold()) and re.search(r"\b(?:is|es)\b", named[0])
        )  # "Lima is home now"
    ):
        named = None
    if not about and not named:
        return False
    if about and re.search(rf"\b{RELATION}\b", fact, re.IGNORECASE):
        return False  # what the fact says of them is looked at elsewhere
    start = about.start() if about else 0
    return not FIRST_PERSON.search(clause[: start + 1] if start else "") or bool(named)


def _is_specific(word: str, fact: str, names: tuple[str, ...]) -> bool:
    """A name or a number: what no paraphrase brings in."""
    if any(char.isdigit() for char in word):
        return True
    plain = without_subject(fact, names)
    capitals = re.findall(r"(?<=[^.!?]\s)[A-ZÁÉÍÓÚÑ][\wáéíóúñ]+", plain)
    return any(fold(word) == fold(one).casefold() for one in capitals)


def is_about_somebody_else(fact: str, names: Iterable[str] = (), message: str = "") -> bool:
    """Whether the fact's subject is not the member: ``Bob lives in Rome``, ``Her sister is a doctor``.

    A word that the message has in small letters is no name: ``Instrument is a violin``.
    """
    plain = without_subject(fact, names)
    if re.match(
        rf"^\W*(?:(?:my|his|her|their|the|a|an|mi|su|sus|un|una)\s+)?(?:\w+\s+)?{RELATION}\b(?!\s+of\b)",
        plain,
        re.IGNORECASE,
    ):
        return not re.match(r"^\W*(?:has|have|tiene|is|es)\b", plain, re.IGNORECASE)
    named = NAMED.match(plain)
    if not named or fold(named["name"]).casefold() in NO_NAMES or named["name"].lower() in VERBS:
        return False
    return not re.search(rf"\b{re.escape(named['name'].lower())}\b", message)


def tells_of_others(fact: str) -> bool:
    """Whether a fact about the member says more of somebody else than that there is such a person."""
    match = re.search(rf"\b{RELATION}\b(?P<rest>.*)", fact, re.IGNORECASE)
    return bool(match and content_words(re.sub(r"\b(?:in common|together)\b", "", match["rest"])))
