"""Words of facts and messages, made comparable."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

_NOT_WORD = re.compile(r"[^\w#+]+|_", re.UNICODE)
_SENTENCE = re.compile(r"(?<=[.!?;:\n…])\s+|[\n;]+")
INVISIBLE = {"Cc", "Cf", "Cs", "Co"}
JOINERS = "\u200c\u200d"


def word_set(text: str) -> frozenset[str]:
    """A list of words as it is easiest to read and change."""
    return frozenset(text.split())


FUNCTION_WORDS = word_set(
    """
    a an and are as at be been being but by do does did doing for from had has have he her hers him his i if in into is it
    its me mine my of off on or our ours out over own she so than that the their theirs them then there they this to too
    up us very was we were what when where which while who whom will with would you your yours user member person they're
    theyre im ive id am s t m re ve ll d just really also still now currently about around some any more most much many
    lot quite both each the's their's currently recently nowadays these those going gets got get gotten goes go went el la
    los las un una unos unas y o u de del al a en por para con sin su sus mi mis tu tus se le les lo me te nos que es son
    esta está están estoy soy era fue ha han he muy ya ahora actualmente como usuario persona él ella der die das ein eine
    einen einem einer und oder in im am an auf zu zum zur von vom mit für ist sind ich er sie es mein meine sein seine le
    l d un une des du et ou dans sur au aux avec pour est sont je il elle mon ma mes son sa ses o os um uma e ou do da dos
    das no na nos nas com por para é são eu ele ela meu minha seu sua
    """
)
"""Words that say nothing by themselves (English, Spanish, German, French, Portuguese)."""

PREDICATES = word_set(
    """
    live lives living lived reside resides residing based home house flat apartment moved moves move moving relocated work
    works working worked employed job jobs career profession occupation employer workplace company like likes liked love
    loves loved enjoy enjoys enjoyed prefer prefers preferred preference fan interested interest interests hobby hobbies
    favorite favourite favorites favourites hate hates hated dislike dislikes disliked name named called calls goes known
    nickname pronoun pronouns uses use using used age aged years year old born birthday has have own owns owned keep keeps
    kept speak speaks speaking language languages study studies studying studied student learn learns learning plays play
    playing played wants want wanted plans plan planning planned member's user's person's not no never longer doesn't
    doesnt don't dont isn't isnt anymore any without pet pets new current vive vivo vivir reside resido mudó mudé trabaja
    trabajo trabajar gusta gustan encanta encantan prefiere prefiero odia odio nombre llama llamo llamas apodo edad años
    tiene tengo habla hablo idioma estudia estudio aprende juega juego quiere quiero no nunca casa hogar empleo profesión
    favorito favorita mascota pronombres wohnt wohne lebt lebe arbeitet arbeite mag heißt heiße hat habe spricht habite
    vit travaille aime préfère s'appelle parle mora trabalha gosta prefere fala chama
    """
)
"""Words a fact is put into, whatever words its member used."""


def clean(text: str) -> str:
    """The text without what cannot be seen, in composed form, on one line."""
    sendable = text.encode("utf-8", "replace").decode("utf-8")
    seen = "".join(
        " " if char in "\n\t\r\v\f\u2028\u2029" else char
        for char in sendable
        if char in "\n\t\r\v\f\u2028\u2029" or char in JOINERS or unicodedata.category(char) not in INVISIBLE
    )
    return " ".join(unicodedata.normalize("NFC", seen).split())


def normal_form(text: str) -> str:
    """Compatible characters, case, punctuation and white space made the same. Never empty for a text with anything in it."""
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    words = " ".join(_NOT_WORD.sub(" ", plain).split())
    return words or " ".join(plain.split())


def digest(text: str) -> str:
    """64 hexadecimal digits that two texts share if they are the same but for case, punctuation and white space."""
    return hashlib.sha256(normal_form(text).encode()).hexdigest()


def words(text: str) -> list[str]:
    """The words of the normal form, apostrophes dropped (``don't`` → ``dont``)."""
    return normal_form(re.sub(r"['’]", "", text)).split()


def fold(word: str) -> str:
    """Without accents, for comparison of what people type in a hurry."""
    return "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))


def content_words(text: str) -> list[str]:
    """The words of a fact that carry its claim: no function words, and none that any fact may be put into."""
    return [word for word in words(text) if word not in FUNCTION_WORDS and word not in _PREDICATES]


_PREDICATES = frozenset(re.sub(r"['’]", "", word) for word in PREDICATES)


def alike(one: str, other: str) -> bool:
    """The same word, or another form of it: ``sailing`` and ``sails``, ``Bogotá`` and ``bogota``, not ``10`` and ``100``."""
    one, other = fold(one), fold(other)
    if one == other:
        return True
    if any(char.isdigit() for char in one + other) or min(len(one), len(other)) < 4:
        return one.rstrip("s") == other.rstrip("s") and min(len(one), len(other)) > 2 and one.isalpha()
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    longest = max(len(one), len(other))
    return shared >= 4 and longest - shared <= 3 and shared >= longest * 0.6


def contains(word: str, among: Iterable[str]) -> bool:
    return any(alike(word, other) for other in among)


def sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.split(text) if part and part.strip()]
