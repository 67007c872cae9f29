"""Bytes to text: the encoding is found out, never assumed, and a guess is said to be one."""

from __future__ import annotations

import codecs
import re

from memory.rag.errors import refuse

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_EAST_ASIAN = ("shift_jis", "cp932", "euc_jp", "iso2022_jp", "gb18030", "big5", "euc_kr", "cp949")
_SINGLE_BYTE = (
    "cp1251",
    "koi8_r",
    "cp1250",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "tis_620",
    "iso8859_2",
    "iso8859_7",
)
_FOREIGN = re.compile(rb"[\xc0-\xff]{4,}")
"""Four accented letters in a row are no word of western Europe."""
_LEGIBLE = re.compile(r"[^\W\d_]|[\s\d!-~‘’“”„‚…–—•€£¥©®™°·«»¿¡§×±¼½¾²³ªº´¨]")


def decode(data: bytes, declared: str = "") -> tuple[str, tuple[str, ...]]:
    """The text, and warnings. ``declared`` is what the file says of itself, which is believed where it holds."""
    for bom, name in _BOMS:
        if data.startswith(bom):
            return _strictly(data[len(bom) :], name), ()
    silent = _utf16_without_bom(data)
    if silent:
        return _strictly(data, silent), ()
    for name in dict.fromkeys(filter(None, ("utf-8", _known(declared)))):
        try:
            return data.decode(name), ()
        except UnicodeDecodeError:
            continue
    if _ENCODED_SURROGATE.search(data) or _mostly_utf8(data):
        return data.decode("utf-8", "replace"), ("Some bytes are not valid UTF-8; they were replaced.",)
    name = _guess(data)
    if not name:
        raise refuse(
            "The encoding of this text is not known. Save it as UTF-8 and upload it again.", "encoding"
        )
    return data.decode(name), (f"The text is not UTF-8; it was read as {name}.",)


def _strictly(data: bytes, name: str) -> str:
    text = data.decode(name, "replace")
    if text.count("\ufffd") > len(text) * 0.1:
        raise refuse("The encoding of this text is broken. Save it as UTF-8 and upload it again.", "encoding")
    return text


def _known(name: str) -> str:
    try:
        return codecs.lookup(name.strip()).name if name.strip() else ""
    except (LookupError, ValueError):
        return ""


def _utf16_without_bom(data: bytes) -> str:
    """UTF-16 shows itself by zeros in every other byte, on one side only."""
    sample = data[:8192]
    half = max(1, len(sample) // 2)
    even, odd = sample[::2].count(0) / half, sample[1::2].count(0) / half
    if len(data) % 2 == 0 and max(even, odd) > 0.4 and min(even, odd) < 0.1:
        return "utf-16-be" if even > odd else "utf-16-le"
    return ""


def _mostly_utf8(data: bytes) -> bool:
    """Whether this is UTF-8 with a few broken places: valid sequences far outnumber the invalid bytes."""
    text = data.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return sum(character > "\x7f" for character in text) - broken > broken * 10


def _guess(data: bytes) -> str:
    """Windows-1252 where the text is mostly ASCII, else what the statistics of letters say."""
    high = sum(byte > 0x7F for byte in data)
    try:
        western = data.decode("cp1252")
    except UnicodeDecodeError:
        western = ""
    legible = sum(1 for character in western if character > "\x7f" and _LEGIBLE.match(character))
    if western and high < len(data) * 0.25 and legible == high and not _FOREIGN.search(data):
        return "cp1252"
    return _statistical(data) or ("cp1252" if western and legible > high * 0.95 else "")


def _statistical(data: bytes) -> str:
    from charset_normalizer import from_bytes

    sample = re.sub(
        rb"<[^<>]{1,500}>|[ -@\\[-`{-~]{8,}", b" ", data[:65536]
    )  # markup says nothing of the language
    best = from_bytes(sample, cp_isolation=[*_EAST_ASIAN, *_SINGLE_BYTE]).best()
    for name in filter(None, (best.encoding if best else "", "cp932", "cp1251")):
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        if best is None and not _plausible(text):
            continue
        return name
    return ""


def _plausible(text: str) -> bool:
    legible = sum(1 for character in text if character > "\x7f" and _LEGIBLE.match(character))
    return legible >= 0.95 * sum(character > "\x7f" for character in text)
