"""The gate in front of every fact: what is not stored, what waits for a person, what may be stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from memory.conf import get_config
from memory.facts import grounding, secrets, sensitive
from memory.facts.attributes import parse
from memory.facts.prompts import INSTRUCTIONS
from memory.facts.text import alike, clean, content_words, normal_form, words

RESTATED_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Verdict:
    """``reason`` is a stable code; empty for what may be stored."""

    action: Literal["store", "quarantine", "refuse"] = "store"
    reason: str = ""


STORE = Verdict()

REASONS = {
    "empty": "there is nothing in it",
    "too_long": "it is too long",
    "card_number": "it looks like the number of a card",
    "account_number": "it looks like a bank account",
    "identity_number": "it looks like an identity number",
    "password": "it looks like a password",
    "key": "it looks like a key or token",
    "number": "it holds a long number or an address of mail",
    "health": "it is about health",
    "sexuality": "it is about sexuality",
    "religion": "it is about religion",
    "politics": "it is about politics",
    "origin": "it is about ethnic origin",
    "crime": "it is about a criminal record",
    "money": "it is about money",
    "instruction": "it reads like an instruction to the bot",
    "other_people": "it is about somebody else",
    "restated": "it repeats the bot's own instructions",
    "unsaid": "the member did not say it",
    "denied": "the member said the opposite",
    "others": "the member said it of somebody else",
    "partly": "the member said only part of it",
    "uncertain": "the member said it as a wish, a plan or a question",
    "contradiction": "it may contradict another fact",
    "filtered": "the operator's filter dropped it",
}
"""Each code in words, for pages and errors."""


def screen_manual(text: str, *, trusted: bool = False) -> Verdict:
    """Of a fact that somebody wrote on purpose. ``trusted`` is an operator who sees what they store."""
    if found := _form(text) or secrets.find_secret(text):
        return Verdict("refuse", found)
    if not trusted and sensitive.is_instruction(text):
        return Verdict("quarantine", "instruction")
    return STORE


def screen_auto(text: str, *, message: str, names: Iterable[str] = ()) -> Verdict:
    """Of a fact that a model says it found in ``message``, which is all that counts: what the bot answered is no source."""
    names = tuple(names)
    refused = (
        _form(text)
        or secrets.find_secret(text)
        or sensitive.find_sensitive(text)
        or _gives_away(text, message)
    )
    if refused:
        return Verdict("refuse", refused)
    if _restates(text, message):
        return Verdict("refuse", "restated")
    if sensitive.is_instruction(text):
        return Verdict("quarantine", "instruction")
    if grounding.is_about_somebody_else(text, names, message):
        return Verdict("refuse", "other_people")
    support = grounding.support(text, message, names)
    if support in {"unsaid", "denied", "others"}:
        return Verdict("refuse", support)
    if support != "said":
        return Verdict("quarantine", support)
    return _doubts(text)


def screen_unseen(text: str) -> Verdict:
    """Of a fact marked as found by a model where the message is not known."""
    refused = _form(text) or secrets.find_secret(text) or sensitive.find_sensitive(text)
    if refused:
        return Verdict("refuse", refused)
    if _restates(text, ""):
        return Verdict("refuse", "restated")
    if sensitive.is_instruction(text):
        return Verdict("quarantine", "instruction")
    if grounding.is_about_somebody_else(text):
        return Verdict("refuse", "other_people")
    return _doubts(text)


def _doubts(text: str) -> Verdict:
    if secrets.find_doubtful_number(text):
        return Verdict("quarantine", "number")
    if grounding.tells_of_others(text):
        return Verdict("quarantine", "other_people")
    named = any(attribute.kind in {"name", "nickname"} for attribute in parse(text))
    if not named and (maybe := sensitive.find_maybe_sensitive(text)):
        return Verdict("quarantine", maybe)
    return STORE


def _form(text: str) -> str:
    if not any(char.isalnum() for char in clean(text)):
        return "empty"
    return "too_long" if len(clean(text)) > get_config().facts.max_fact_length else ""


def _gives_away(text: str, message: str) -> str:
    """A password or a diagnosis that only the message names as one."""
    there = words(text)
    passwords = secrets.secret_values(message)
    if passwords & set(there) or any(
        value in clean(text).casefold() for value in passwords if len(value) > 4
    ):
        return "password"
    if any(alike(word, other) for word in sensitive.given_away(message) for other in there):
        return "health"
    return ""


def _restates(text: str, message: str) -> bool:
    """Whether the fact is put together from the operator's system prompt or our own instructions rather than from the message."""
    fact = content_words(text)
    if len(fact) < 2:
        return False
    said = words(message)
    for source in (get_config().chat.system_prompt, INSTRUCTIONS):
        if len(fact) >= 3 and normal_form(text) in normal_form(source):
            return True
        there = words(source)
        shared = [word for word in fact if any(alike(word, other) for other in there)]
        own = [word for word in fact if any(alike(word, other) for other in said)]
        if len(shared) >= len(fact) * RESTATED_SHARE and len(own) < len(fact):
            return True
    return False
