"""What the first bytes of an unpacked file say: XML or not, where it begins, and in which encoding."""

from __future__ import annotations

import codecs
import re

from classifeed_processor.domain.faults import FeedFault
from classifeed_processor.feed.opening import Opening
from classifeed_processor.feed.unknown_format import show_bytes, unknown_format

PREFIX_BYTES = 64 << 10

_HTML = re.compile(
    rb"\A(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|br\s*/?>|b>|p>|h1|div|script|title|center)\b", re.I | re.S
)
_SCRIPT_ERROR = re.compile(
    rb"\A(?:<[^>]{0,40}>\s*)*(?:PHP\s+)?(?:Fatal error|Parse error|Warning|Notice|Deprecated|Uncaught|<\?php|"
    rb"Traceback \(most recent|Internal Server Error|502 Bad Gateway|504 Gateway|404 Not Found|403 Forbidden)",
    re.I,
)
_DECLARATION = re.compile(rb"""\A<\?xml\b[^>]{0,200}?\bencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_FIRST = frozenset({b"<", b" ", b"\t", b"\r", b"\n"})
_ONE_BYTE = (
    "cp866", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1257", "iso8859-1", "iso8859-2", "iso8859-5",
    "iso8859-9", "iso8859-15", "koi8-r", "koi8-u",
)  # fmt: skip
_NATIVE_CODECS = frozenset(codecs.lookup(name).name for name in _ONE_BYTE)


def sniff(prefix: bytes) -> Opening:
    """Returns how to read the file that begins with `prefix`.

    Args:
        prefix: The first `PREFIX_BYTES` bytes of the unpacked content, or all of it.

    Raises:
        FeedFault: FILE_EMPTY, NOT_A_FEED, UNKNOWN_FORMAT or ENCODING_UNKNOWN.
    """
    wide, body, bom = _wide_encoding(prefix)
    text = body.decode(wide, "replace").encode() if wide else body
    stripped = text.lstrip(b" \t\r\n")
    skipped = text[: len(text) - len(stripped)]
    if not stripped:
        raise FeedFault("FILE_EMPTY", "The file is empty" if not prefix else "The file holds nothing but blanks")
    if _HTML.match(stripped) or _SCRIPT_ERROR.match(stripped):
        raise FeedFault(
            "NOT_A_FEED",
            f"The file is a web page or an error message; it begins with {show_bytes(stripped)}",
            line=1,
            column=1,
        )
    if not stripped.startswith(b"<"):
        raise unknown_format(stripped)
    unit = 2 if wide else 1
    declared = _DECLARATION.match(stripped)
    name = declared.group(1).decode("ascii") if declared else ""
    encoding = "utf-8" if wide else _check_declared(name)
    return Opening(
        skip_bytes=bom + len(skipped) * unit,
        skip_lines=skipped.count(b"\n"),
        wide=wide,
        encoding=encoding,
        declared=name,
    )


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
    # Without a mark: a tag or a blank, and a zero byte beside it.
    if prefix[:1] in _FIRST and prefix[1:2] == b"\0":
        return "utf-16-le", prefix, 0
    if prefix[1:2] in _FIRST and prefix[:1] == b"\0":
        return "utf-16-be", prefix, 0
    if prefix.startswith(codecs.BOM_UTF8):
        return "", prefix[3:], 3
    return "", prefix, 0


def _check_declared(name: str) -> str:
    """Returns the encoding to force on both parsers, so that they do not each read the name in their own way."""
    if not name:
        return ""
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        codec = ""
    if codec in {"utf-8", "ascii"} or codec.startswith("utf-16"):
        # ASCII is a part of UTF-8. A file of single bytes that says UTF-16 does not mean it; the first pass sees.
        return "utf-8"
    if codec in _NATIVE_CODECS:
        return codec
    raise FeedFault("ENCODING_UNKNOWN", f"The file declares the encoding {name}, which is not read", line=1)
