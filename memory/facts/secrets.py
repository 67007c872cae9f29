"""What must never be stored as a fact: card and account numbers, identity numbers, keys, tokens and passwords.

Check digits are python-stdnum's; prefixes are the published ones of each issuer.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator

from stdnum import iban, luhn
from stdnum.br import cpf
from stdnum.ca import sin
from stdnum.cl import rut
from stdnum.es import dni, nie
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.in_ import aadhaar, pan
from stdnum.it import codicefiscale
from stdnum.mx import curp
from stdnum.us import ssn

from memory.facts.text import clean, fold

_DIGIT_WORDS = {
    word: digit
    for digit, names in enumerate(
        [
            "zero oh cero",
            "one uno una",
            "two dos",
            "three tres",
            "four cuatro",
            "five cinco",
            "six seis",
            "seven siete",
            "eight ocho",
            "nine nueve",
        ]
    )
    for word in names.split()
}
_RUN = re.compile(r"\d(?:[ .\-_/()]{0,3}\d)+")
_IBAN = re.compile(r"\b[A-Z]{2}\s?\d{2}(?:[\s\-]?[A-Z0-9]){11,30}", re.IGNORECASE)
_KEY = re.compile(
    r"""
    \b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or|svcacct)?[-_]?[A-Za-z0-9_\-]{16,}
    |\bgh[opsru]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w\-]{16,}|\bxox[abeprs]-[\w\-]{10,}|\bxapp-[\w\-]{10,}
    |\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}|\bAIza[\w\-]{20,}|\bya29\.[\w\-]+|\bnpm_[A-Za-z0-9]{20,}|\bpypi-[\w\-]{20,}
    |\bhf_[A-Za-z0-9]{16,}|\bSG\.[\w\-]{16,}\.[\w\-]+|\bdop_v1_\w{20,}|\bshp(?:at|ca|pa|ss)_\w{16,}|\bmb_[\w\-]{20,}
    |\bAGE-SECRET-KEY-\w+|\beyJ[\w\-]{8,}\.[\w\-]{8,}|-----BEGIN|\b[MNO][\w\-]{22,27}\.[\w\-]{5,7}\.[\w\-]{25,}
    |\w+://[^\s/@:]+:[^\s/@]+@|\b(?i:bearer)\s+[\w\-.=]{12,}
    """,
    re.VERBOSE,
)
_WORD = (
    r"pass\s?-?words?|pass\s?-?phrases?|pass\s?-?codes?|passwd|pwd|pin(?:\s?(?:code|number))?|cvv2?|cvc|security code|api[ _-]?keys?|"
    r"(?:secret|private|access|recovery|encryption|licen[cs]e)[ _-]?(?:key|code|phrase|token)s?|seed phrase|(?:auth|access|bot)[ _-]?tokens?|"
    r"2fa(?: code)?|otp|one[- ]time code|log[- ]?in code|contrasen(?:y)?as?|clave(?: secreta| de acceso)?|codigo (?:secreto|de seguridad|pin)|"
    r"palabra secreta|passwor(?:t|ter)|kennwort|mot de passe|senha"
)
_PASSWORD = re.compile(
    rf"\b(?:{_WORD})\b(?P<gap>(?:\s+(?:for|to|of|on|de|para|del?|la|el|my|mi|the|wi-?fi|email|bank|account|card|router|\w+))"
    rf"{{0,4}}?)\s*(?:is|was|are|es|era|ist|est|[:=]|->)\s*[\"'`“]?(?P<value>\S[^\n]*)",
    re.IGNORECASE,
)
_PASSWORD_WORD = re.compile(rf"\b(?:{_WORD})\b", re.IGNORECASE)
_ALWAYS_SECRET = re.compile(
    r"\b(?:pass\s?-?words?|passphrases?|passwd|contrasen(?:y)?as?|cvv2?|seed phrase|api[ _-]?keys?|passwort|kennwort|mot de passe|senha)\b",
    re.IGNORECASE,
)
_IDENTITY = re.compile(
    r"\b(?:ssn|social security|national (?:id|insurance)|nino|passports?|pasaporte|driver'?s? licen[cs]e|licencia de conducir|"
    r"identity (?:card|number)|id (?:card|number)|tax (?:id|number)|dni|nie|nif|cedula|curp|rfc|cpf|cuit|cuil|rut|nit|aadhaar|"
    r"seguridad social|personalausweis|steuer-?id|numero fiscal|medicare|nhs|account number|routing number|sort code|"
    r"numero de (?:cuenta|tarjeta|documento|identidad|pasaporte)|bank account|cuenta bancaria|credit card|debit card|tarjeta de (?:credito|debito))\b",
    re.IGNORECASE,
)
_WITH_DIGITS = re.compile(r"(?=\S*\d\S*\d\S*\d)[\w.\-/]{5,}")
_TOKEN = re.compile(r"[A-Za-z0-9+/=_\-!@#$%^&*~.]{16,}")
_CANDIDATE = re.compile(r"\b[A-Z0-9][A-Z0-9.\-]{6,19}[A-Z0-9]\b", re.IGNORECASE)
_LETTERED: tuple[Callable[[str], bool], ...] = (
    dni.is_valid,
    nie.is_valid,
    curp.is_valid,
    codicefiscale.is_valid,
    pan.is_valid,
)
_PUNCTUATED: tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...] = (
    (re.compile(r"\b\d{3}[- ]\d{2}[- ]\d{4}\b"), ssn.is_valid),
    (re.compile(r"\b\d{3}\.\d{3}\.\d{3}-\d{2}\b"), cpf.is_valid),
    (re.compile(r"\b\d{1,2}\.\d{3}\.\d{3}-[\dkK]\b"), rut.is_valid),
    (re.compile(r"\b\d{3}[- ]\d{3}[- ]\d{3}\b"), sin.is_valid),
    (re.compile(r"\b\d{3}[- ]\d{3}[- ]\d{4}\b"), nhs.is_valid),
    (re.compile(r"\b\d{4}[- ]\d{4}[- ]\d{4}\b"), aadhaar.is_valid),
    (re.compile(r"\b[12][ ]?\d{2}[ ]?\d{2}[ ]?\d{2}[ ]?\d{3}[ ]?\d{3}[ ]?\d{2}\b"), nir.is_valid),
)
_NINO = re.compile(r"\b[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\s?\d{2}\s?\d{2}\s?\d{2}\s?[A-D]\b", re.IGNORECASE)
LONG_NUMBER = 9


def find_secret(text: str) -> str:
    """A stable code for what is in the text that must not be stored, or empty."""
    plain = _plain(text)
    if _KEY.search(text) or _KEY.search(plain) or any(_is_random(token) for token in _TOKEN.findall(plain)):
        return "key"
    if _has_iban(plain):
        return "account_number"
    if _has_card(plain):
        return "card_number"
    if _has_identity(plain):
        return "identity_number"
    if _PASSWORD.search(plain) or (
        _ALWAYS_SECRET.search(plain) and not re.search(r"\bpassword manager", plain, re.IGNORECASE)
    ):
        return "password"
    return ""


def find_doubtful_number(text: str) -> bool:
    """A phone number, an address of mail, or another number that is somebody's rather than something's."""
    plain = _plain(text)
    if re.search(r"[\w.+\-]+@[\w\-]+\.\w{2,}", plain):
        return True
    return any(len(re.sub(r"\D", "", run)) >= LONG_NUMBER for run in _RUN.findall(plain))


def secret_values(text: str) -> set[str]:
    """Words of a message that it gives as a password or the like; a fact that holds one is not stored, however it is put."""
    found: set[str] = set()
    for match in _PASSWORD.finditer(_plain(text)):
        for word in re.split(r"[\s,;]+", match["value"])[:4]:
            bare = word.strip("\"'`“”.,;:!?()").casefold()
            if len(bare) >= 3:
                found.add(bare)
            if word.endswith((".", "!", "?")):
                break
    return found


def _plain(text: str) -> str:
    """Compatible characters made the same, accents dropped, digits that are written out as digits."""
    plain = fold(unicodedata.normalize("NFKC", clean(text)))
    return re.sub(
        rf"(?:\b(?:{'|'.join(_DIGIT_WORDS)})\b[\s,\-]*){{4,}}",
        lambda run: "".join(str(_DIGIT_WORDS[word]) for word in re.findall(r"[a-z]+", run[0].lower())) + " ",
        plain,
        flags=re.IGNORECASE,
    )


def _has_card(text: str) -> bool:
    for run in _RUN.findall(text):
        digits = re.sub(r"\D", "", run)
        for size in range(13, 20):
            for start in range(len(digits) - size + 1):
                part = digits[start : start + size]
                if part[0] in "23456" and len(set(part)) > 1 and luhn.is_valid(part):
                    return True
    return False


def _has_iban(text: str) -> bool:
    for match in _IBAN.finditer(text):
        compact = re.sub(r"[\s\-]", "", match[0]).upper()
        if any(iban.is_valid(compact[:size]) for size in range(15, min(len(compact), 34) + 1)):
            return True
    return False


def _has_identity(text: str) -> bool:
    if any(check(found) for pattern, check in _PUNCTUATED for found in pattern.findall(text)):
        return True
    if _NINO.search(text):
        return True
    if any(check(found) for found in _lettered(text) for check in _LETTERED):
        return True
    return bool(_IDENTITY.search(text) and _WITH_DIGITS.search(text))


def _lettered(text: str) -> Iterator[str]:
    for found in _CANDIDATE.findall(text):
        if any(char.isalpha() for char in found) and sum(char.isdigit() for char in found) >= 4:
            yield found


def _is_random(token: str) -> bool:
    """Whether a word looks drawn rather than written: long, of mixed classes, and with many different characters."""
    bare = token.strip(".-_=")
    if len(bare) < 16 or "://" in token:
        return False
    if re.fullmatch(r"[0-9a-fA-F]{24,}", bare):
        return True
    classes = sum(bool(re.search(kind, bare)) for kind in ("[a-z]", "[A-Z]", r"\d"))
    counts = Counter(bare)
    entropy = -sum(n / len(bare) * math.log2(n / len(bare)) for n in counts.values())
    return classes == 3 and entropy >= 3.4 and sum(char.isdigit() for char in bare) >= 2
