"""Which charset a text is in. Only real charsets are believed: Python knows codecs that are none, and slow ones."""

from __future__ import annotations

import codecs
import re

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_KNOWN = re.compile(
    r"(?:utf-?8|utf-16(?:le|be)?|us-ascii|ascii|latin-?1|iso-8859-\d{1,2}|windows-125\d|cp125\d|koi8-[ru]|"
    r"shift_jis|euc-jp|euc-kr|gb2312|gbk|gb18030|big5)\Z"
)
# As browsers read these names.
_WIDER = {
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
}
_PARAMETER = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_-]{1,20})", re.I)
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([A-Za-z0-9_-]{1,20})", re.I)


def charset_of(parameters: str, body: bytes) -> str:
    """A codec for the body: by its first bytes, the header, its own ``<meta>``, or whether it is UTF-8."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    in_header = _PARAMETER.search(parameters[:200])
    if in_header and (name := _known(in_header[1])):
        return name
    in_body = _META.search(body[:2048])
    if in_body and (name := _known(in_body[1].decode("ascii"))):
        return "utf-8" if name.startswith("utf-16") else name
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def decoded(body: bytes, charset: str) -> str:
    return body.decode(charset, "replace")


def _known(name: str) -> str:
    name = name.lower()
    if not _KNOWN.match(name):
        return ""
    name = _WIDER.get(name, name)
    try:
        codecs.lookup(name)
    except LookupError:
        return ""
    return name
