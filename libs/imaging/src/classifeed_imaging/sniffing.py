"""Identifies bytes by their content, since names and Content-Types may be wrong."""

from __future__ import annotations

import re
from typing import Final

from classifeed_imaging.faults import DecodeFailed, NotAPicture, broken, unsupported

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_BEGINNINGS: Final = (_PNG, b"GIF89a", b"GIF87a", b"\xff\xd8\xff", b"RIFF")
_HEIC_BRANDS: Final = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"})
_HEIF_BRANDS: Final = frozenset({b"mif1", b"mif2", b"msf1", b"miaf"})
_AVIF_BRANDS: Final = frozenset({b"avif", b"avis"})

# Other picture formats, and other kinds of files, by their first bytes.
_OTHER_PICTURES: Final = (
    (b"II*\x00", "a TIFF picture"),
    (b"MM\x00*", "a TIFF picture"),
    (b"II+\x00", "a BigTIFF picture"),
    (b"MM\x00+", "a BigTIFF picture"),
    (b"8BPS", "a Photoshop file"),
    (b"\xff\x0a", "a JPEG XL picture"),
    (b"\x00\x00\x00\x0cJXL ", "a JPEG XL picture"),
    (b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture"),
    (b"\xff\x4f\xff\x51", "a JPEG 2000 picture"),
    (b"\x00\x00\x01\x00", "an icon (ICO)"),
    (b"\x00\x00\x02\x00", "a cursor (CUR)"),
    (b"qoif", "a QOI picture"),
    (b"gimp xcf", "a GIMP file"),
    (b"\xd7\xcd\xc6\x9a", "a Windows metafile"),
)
_NO_PICTURES: Final = (
    (b"%PDF-", "a PDF document"),
    (b"%!PS", "a PostScript document"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x1aE\xdf\xa3", "a video (Matroska or WebM)"),
    (b"OggS", "a sound or a video (Ogg)"),
    (b"ID3", "a sound (MP3)"),
    (b"FLV\x01", "a video (Flash)"),
    (b"\xd0\xcf\x11\xe0", "an office document"),
    (b"MZ", "a Windows program"),
    (b"\x7fELF", "a program"),
    (b"#!", "a script"),
)
_HTML: Final = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|script|meta|div|p|h1|center|iframe)\b", re.IGNORECASE
)
_SVG: Final = re.compile(rb"<(?:[a-z0-9]+:)?svg\b|<!doctype\s+svg", re.IGNORECASE)
_TITLE: Final = re.compile(rb"<title[^>]*>\s*([^<]{1,80})", re.IGNORECASE)
_PROBE_BYTES: Final = 4096


def identify(data: bytes) -> str:
    """Return jpeg, png, webp, gif or avif.

    Raises:
        NotAPicture: the bytes are no picture; the message names their kind if it is known.
        DecodeFailed: they are an unsupported picture, or only the beginning of one.
    """
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data.startswith(_PNG):
        return "png"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "webp"
    if data[4:8] == b"ftyp":
        return _identify_media(data)
    raise _name_other(data)


def _identify_media(data: bytes) -> str:
    size = int.from_bytes(data[:4], "big")
    if size < 16 or size > min(len(data), _PROBE_BYTES):
        raise broken("The file ends within its first box, or the box has an impossible size.")
    brands = {data[8:12], *(data[at : at + 4] for at in range(16, size - 3, 4))}
    if brands & _AVIF_BRANDS:
        return "avif"
    if brands & (_HEIC_BRANDS | _HEIF_BRANDS):
        raise unsupported("This is a HEIC picture (HEIF with H.265), which most browsers do not show either.")
    raise NotAPicture(
        f"This is a video or a sound (MP4 family, {_show(data[8:12])}), not a picture. Publish a picture."
    )


def _name_other(data: bytes) -> DecodeFailed:
    if not data:
        return NotAPicture("The file is empty. Publish a picture at this address.")
    if len(data) < 12 and any(
        magic.startswith(data) for magic in (_PNG, b"GIF89a", b"GIF87a", b"\xff\xd8\xff", b"RIFF")
    ):
        return broken(f"The file ends after {len(data)} bytes.")
    for magic, name in _OTHER_PICTURES:
        if data.startswith(magic):
            return unsupported(f"This is {name}.")
    if data.startswith(b"BM") and len(data) > 14 and data[6:10] == bytes(4):
        return unsupported("This is a BMP picture.")
    for magic, name in _NO_PICTURES:
        if data.startswith(magic):
            return NotAPicture(f"This is {name}, not a picture. Publish a picture at this address.")
    return _name_text(data)


def _name_text(data: bytes) -> DecodeFailed:
    head = data[:_PROBE_BYTES]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", "ignore").encode()
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    svg, html = _SVG.search(text), _HTML.search(text)
    if svg and not (html and html.start() < svg.start()):
        return unsupported("This is an SVG drawing, which may carry scripts and is never accepted.")
    if html:
        title = _TITLE.search(text)
        named = f" with the title “{_show(title.group(1))}”" if title else ""
        return NotAPicture(
            f"This is an HTML page{named}, not a picture: often an error page or a login form that is sent with "
            "status 200. Publish the address of the picture itself."
        )
    if text.startswith(b"<?xml") or text.startswith(b"<"):
        return NotAPicture("This is an XML document, not a picture. Publish a picture at this address.")
    if text.startswith((b"{", b"[")):
        return NotAPicture("This is JSON, not a picture. Publish a picture at this address.")
    if head and not re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", head):
        return NotAPicture("This is text, not a picture. Publish a picture at this address.")
    return NotAPicture("These bytes are of no known picture format. Publish a picture at this address.")


def _show(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
