"""Inspect the first bytes of an unpacked file: whether it is XML, where it begins, and its encoding."""

from __future__ import annotations

import codecs
import re

from classifeed_feeds.faults import FeedFault, shown
from classifeed_feeds.formats.google.tags import PREFIX_DECLARATION
from classifeed_feeds.formats.unknown_format import show_bytes, unknown_format
from classifeed_feeds.source.opening import Insertion, Opening

PREFIX_BYTES = 64 << 10

# Possessive quantifiers, so that many comments at the beginning cannot cause backtracking.
_HTML = re.compile(
    rb"\A(?:<!--(?:(?!-->).)*+-->\s*+)*+"
    rb"<(?:!doctype\s+html|html|head|body|br\s*/?>|b>|p>|h1|div|script|title|center)\b",
    re.I | re.S,
)
_SCRIPT_ERROR = re.compile(
    rb"\A(?:<[^>]{0,40}+>\s*+)*+(?:PHP\s+)?(?:Fatal error|Parse error|Warning|Notice|Deprecated|Uncaught|<\?php|"
    rb"Traceback \(most recent|Internal Server Error|502 Bad Gateway|504 Gateway|404 Not Found|403 Forbidden)",
    re.I,
)
_DECLARATION = re.compile(rb"<\?xml[ \t\r\n]")
_DECLARATION_BYTES = 1_000
_BEFORE = re.compile(rb"\A(?:[ \t\r\n]|\xef\xbb\xbf)*+")
_PRODUCT_ROOT = re.compile(
    rb"\A(?:<\?(?:(?!\?>).)*+\?>|<!--(?:(?!-->).)*+-->|[ \t\r\n]++)*+<(?:rss|feed)(?=[ \t\r\n>])", re.S
)
_DECLARES_PREFIX = re.compile(rb"xmlns:g[ \t\r\n]*=")
_ENCODING = re.compile(rb"""[ \t\r\n]encoding[ \t\r\n]*+=[ \t\r\n]*+(?:"([^"]*+)"|'([^']*+)')""")
_ENCODING_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,39}")
_FIRST = frozenset({b"<", b" ", b"\t", b"\r", b"\n"})
_ONE_BYTE = (
    "cp866", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1257", "iso8859-1", "iso8859-2", "iso8859-5",
    "iso8859-9", "iso8859-15", "koi8-r", "koi8-u",
)  # fmt: skip
_NATIVE_CODECS = frozenset(codecs.lookup(name).name for name in _ONE_BYTE)


def sniff(prefix: bytes) -> Opening:
    """Return how to read the file that begins with `prefix`.

    Args:
        prefix: The first `PREFIX_BYTES` bytes of the unpacked content, or all of it.

    Raises:
        FeedFault: FILE_EMPTY, NOT_A_FEED, UNKNOWN_FORMAT, ENCODING_UNKNOWN, ENCODING_WRONG or MALFORMED_XML.
    """
    wide, body, bom = _wide_encoding(prefix)
    text = body.decode(wide, "replace").encode() if wide else body
    # Programs that join files leave byte order marks before the first tag.
    stripped = _BEFORE.sub(b"", text, count=1)
    skipped = text[: len(text) - len(stripped)]
    has_mark = bom > 0 or codecs.BOM_UTF8 in skipped
    if not stripped:
        raise FeedFault("FILE_EMPTY", "The file is empty" if not prefix else "The file has only blanks")
    if _HTML.match(stripped) or _SCRIPT_ERROR.match(stripped):
        raise FeedFault(
            "NOT_A_FEED",
            f"The file is a web page or an error message; it begins with {show_bytes(stripped)}",
            line=1,
            column=1,
        )
    if not stripped.startswith(b"<"):
        raise unknown_format(stripped)
    if stripped[1:2] == b"\0":
        # expat takes it for UTF-16 even if another encoding is given; libxml2 does not.
        raise FeedFault("ENCODING_WRONG", "The file begins in one encoding and continues in another one", line=1)
    name = _declared_encoding(stripped)
    # A byte order mark is more reliable than a declared name, because it is not written by hand.
    encoding = "utf-8" if has_mark or wide else _check_declared(name)
    return Opening(
        skip_bytes=bom + (2 * len(skipped.decode()) if wide else len(skipped)),
        skip_lines=skipped.count(b"\n"),
        wide=wide,
        encoding=encoding,
        declared=name,
        inserted=_missing_declaration(stripped),
    )


def _missing_declaration(text: bytes) -> Insertion | None:
    """Return the declaration of the prefix g:, if the root of product data uses it but does not declare it."""
    root = _PRODUCT_ROOT.match(text)
    if root is None or b"<g:" not in text or _DECLARES_PREFIX.search(text) is not None:
        return None
    return Insertion(root.end(), PREFIX_DECLARATION.encode())


def _wide_encoding(prefix: bytes) -> tuple[str, bytes, int]:
    for mark, name in (
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if prefix.startswith(mark):
            if name.startswith("utf-32"):
                raise FeedFault("ENCODING_UNKNOWN", "The file is written in UTF-32", line=1)
            return name, prefix[len(mark) :], len(mark)
    # Without a mark: a tag or a blank, next to a zero byte.
    if prefix[:1] in _FIRST and prefix[1:2] == b"\0":
        return "utf-16-le", prefix, 0
    if prefix[1:2] in _FIRST and prefix[:1] == b"\0":
        return "utf-16-be", prefix, 0
    if prefix.startswith(codecs.BOM_UTF8):
        return "", prefix[3:], 3
    return "", prefix, 0


def unknown_encoding(name: str) -> FeedFault:
    """Return the fault of a file that declares an unsupported encoding."""
    return FeedFault(
        "ENCODING_UNKNOWN", f"The file declares the encoding {shown(name)}, which is not supported", line=1
    )


def _declared_encoding(text: bytes) -> str:
    """Return the encoding's name in the XML declaration; empty: there is none."""
    if _DECLARATION.match(text) is None:
        return ""
    end = text.find(b"?>", 0, _DECLARATION_BYTES)
    if end < 0:
        reason = f"The XML declaration does not end within its first {_DECLARATION_BYTES:,} bytes"
        raise FeedFault("MALFORMED_XML", reason, line=1)
    found = _ENCODING.search(text, 0, end)
    return (found[1] or found[2] or b"").decode("ascii", "replace") if found is not None else ""


def _check_declared(name: str) -> str:
    """Return the encoding to set for both parsers, so that they cannot interpret its name differently."""
    if not name:
        return "utf-8"
    try:
        codec = codecs.lookup(name).name if _ENCODING_NAME.fullmatch(name) else ""
    except LookupError:
        codec = ""
    if codec in {"utf-8", "ascii"} or codec.startswith("utf-16"):
        # ASCII is a subset of UTF-8. A file of single bytes is not UTF-16, even if it says so; the first pass checks.
        return "utf-8"
    if codec in _NATIVE_CODECS:
        return codec
    raise unknown_encoding(name)
