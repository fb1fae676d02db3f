"""Random changes of a file that depend only on a seed: bytes, markup, values, encodings, declarations, containers."""

from __future__ import annotations

import codecs
import gzip
import io
import random
import re
import struct
import zipfile
from collections.abc import Callable

Mutation = Callable[[random.Random, bytes], bytes]
_MOST_BYTES = 400 << 10

TOKENS = [
    b"<", b">", b"&", b"]]>", b"<!--", b"-->", b"<![CDATA[", b"<?", b"?>", b"&#0;", b"&#xD800;", b"&#x10FFFF;",
    b"&#xFFFE;", b"&amp;", b"&nbsp;", b"&x;", b"\0", b"\x0b", b"\x1a", b"\x7f", b"\x98", b"\xff\xfe", b"\xfe\xff",
    codecs.BOM_UTF8, b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"<offer/>", b"<offer>", b"</offer>",
    b'<offer id="a">', b"<item/>", b"<g:id/>", b"<entry/>", b"</offers>", b"<offers>", b"</shop>", b"<shop/>",
    b' id="a"', b' xml:id="a"', b" xml:lang='ru'", b" xmlns='urn:x'", b" xmlns:g=''",
    b' xmlns="http://base.google.com/ns/1.0"', b" xmlns:xml='u'", b"<xml:a/>", b"<:a/>", b"<a:/>", b"<a:b:c/>",
    b"<!DOCTYPE a>", b"<?xml version='1.0'?>", b"<?xml version='1.1'?>", b"<x:a xmlns:x='urn:y'/>", b"\r", b"\r\n",
    b"\n\n\n", b"\t", b"\xc2\x85", b"\xe2\x80\xa8", b"record:1", b"<br/>", b"<b>x</b>",
]  # fmt: skip
VALUES = [
    "", " ", "0", "-1", "1e999", "nan", "inf", "-inf", "9" * 13, "9" * 20, "9" * 400, "9" * 5000, "1" + "0" * 12,
    "0.0000001", "1,5", "1.5.5", "1 000", "1\u00a0000", "٣", "１２", "²", "½", "Ⅷ", "0x10", "1_000", "+1", "--1", "1e5",
    "true", "да", "FALSE", "https://", "http://a b", "//a", "www.", "https://a/|https://b", ", https://x",
    "javascript:alert(1)", "x" * 300, "x" * 5000, "x" * 70_000, "я" * 20_000, "record:5", " a ", "a\u0301", "\u202e",
    "\ufeff", "\U0001f600", "90", "91", "-90.0000001", "55,5", "55.5;37.5", "Home > " * 50, ">", "RUB", "RUR", "руб.",
    "$", "€5", "5 €", "5 EUR 6", "1.000,50 EUR", "USD USD", "in stock", "preorder", "{value}", "%s", "{0}", "\\",
    "'\"", "&lt;b&gt;",
]  # fmt: skip
NAMES = [
    "a", "offer", "offers", "shop", "id", "price", "g:price", "title", "x" * 300, "я", "a-b", "a.b", "_", "category",
    "param", "anything", "choice", "g:item", "item", "entry", "feed", "rss", "channel", "yml_catalog", "classifeed",
    "\u0132", "\u2070a", "a\u00b7", "name", "outlets", "link",
]  # fmt: skip
ENCODINGS = [
    "UTF-8", "utf8", "windows-1251", "cp1251", "koi8-r", "koi8-u", "cp866", "iso-8859-1", "latin1", "iso-8859-5",
    "windows-1252", "us-ascii", "UTF-16", "utf-16le", "UTF-32", "UTF-7", "gb18030", "shift_jis", "big5",
    "ebcdic-cp-us", "cp037", "hex", "idna", "unicode_escape", "rot13", "undefined", "mbcs", "punycode", "x" * 40,
    "x" * 41, "x" * 300, "", " ", "..", "a/b", "1251", "-", "кои8", "utf-8-sig", "cp65001",
]  # fmt: skip
CODECS = ["cp1251", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "koi8-r", "cp866", "utf-8-sig", "utf-7", "cp037"]
MARKS = [
    codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF8 * 2, b" ", b"\0",
    b"\n" * 9000,
]  # fmt: skip
DECLARATIONS = [
    b'<!ENTITY x "y">', b'<!ENTITY nbsp "&#160;">', b'<!ENTITY x "&y;"><!ENTITY y "z">', b'<!ENTITY x "&x;">',
    b'<!ENTITY x "<a/>">', b'<!ENTITY % p "<!ENTITY x \'y\'>"> %p;', b'<!ENTITY x SYSTEM "file:///etc/passwd">',
    b'<!ATTLIST offer id CDATA "d">', b"<!ATTLIST offer id ID #REQUIRED>", b"<!ELEMENT offer ANY>",
    b"<!ELEMENT offer (a|b)*>", b"<!NOTATION n SYSTEM 'n'>", b"<!-- c -->", b"<?pi?>",
    b'<!ENTITY x "' + b"z" * 127 + b'">', b'<!ENTITY lt "&#38;#60;">', b'<!ENTITY amp "x">',
    b"<!ATTLIST offer xml:space (default|preserve) #IMPLIED>",
]  # fmt: skip
METHODS = [zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
MEMBERS = [["feed.xml"], ["a/"], ["a/", "__MACOSX/x", "a/feed.xml"], [".hidden", "f\x1b"], ["a", "b"]]
_TAG = re.compile(rb"<[A-Za-z][^<>]*>")
_ELEMENT = re.compile(rb"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>[^<>]*</\1\s*>")
_WIDER = re.compile(rb"<(offer|item|entry|category|outlets|categories|shop|offers|channel)\b[^<>]*>.*?</\1\s*>", re.S)
_ATTRIBUTE = re.compile(rb"""\s[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*')""")
_TEXT = re.compile(rb">([^<>]+)<")
_DECLARATION = re.compile(rb"<\?xml[^>]*\?>")


def _span(rng: random.Random, data: bytes, most: int = 2000) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randrange(1, max(2, min(most, len(data) + 1))))


def _pick(rng: random.Random, pattern: re.Pattern[bytes], data: bytes) -> re.Match[bytes] | None:
    """Return a match after a random place, so that long files are cheap."""
    start = rng.randrange(max(1, len(data)))
    return pattern.search(data, start, start + 40_000) or pattern.search(data, 0, 40_000)


def _replaced(data: bytes, match: re.Match[bytes] | None, new: bytes, group: int = 0) -> bytes:
    return data if match is None else data[: match.start(group)] + new + data[match.end(group) :]


def flip_bits(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8, 64]) if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def set_bytes(rng: random.Random, data: bytes) -> bytes:
    start, end = _span(rng, data, 40)
    return (
        data[:start]
        + bytes(rng.choice([0, 10, 32, 60, 62, 38, 255, rng.randrange(256)]) for _ in range(end - start))
        + data[end:]
    )


def delete_span(rng: random.Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def repeat_span(rng: random.Random, data: bytes) -> bytes:
    start, end = _span(rng, data, 300)
    return data[:end] + data[start:end] * rng.choice([1, 2, 50, 3000]) + data[end:]


def move_span(rng: random.Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    rest = data[:start] + data[end:]
    at = rng.randrange(len(rest) + 1)
    return rest[:at] + data[start:end] + rest[at:]


def cut_end(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def cut_start(rng: random.Random, data: bytes) -> bytes:
    return data[rng.randrange(min(len(data), 300) + 1) :]


def insert_token(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(TOKENS) * rng.choice([1, 1, 1, 3, 70]) + data[at:]


def insert_token_at_tag(rng: random.Random, data: bytes) -> bytes:
    match = _pick(rng, _TAG, data)
    at = rng.choice([match.start(), match.end(), match.end() - 1]) if match else 0
    return data[:at] + rng.choice(TOKENS) + data[at:]


def repeat_element(rng: random.Random, data: bytes) -> bytes:
    match = _pick(rng, rng.choice([_ELEMENT, _WIDER]), data)
    return data if match is None else _replaced(data, match, match[0] * rng.choice([2, 3, 25, 400]))


def empty_element(rng: random.Random, data: bytes) -> bytes:
    match = _pick(rng, rng.choice([_ELEMENT, _WIDER]), data)
    if match is None:
        return data
    name = match[1]
    forms = [b"<%s/>", b"<%s />", b"<%s\n/>", b"<%s></%s>", b"<%s></%s >", b"<%s a='/>'/>"]
    form = rng.choice(forms)
    return _replaced(data, match, form.replace(b"%s", name))


def empty_all_elements(rng: random.Random, data: bytes) -> bytes:
    return _WIDER.sub(rb"<\1 id='a'/>", data)


def drop_element(rng: random.Random, data: bytes) -> bytes:
    return _replaced(data, _pick(rng, rng.choice([_ELEMENT, _WIDER]), data), b"")


def nest_element(rng: random.Random, data: bytes) -> bytes:
    match = _pick(rng, rng.choice([_ELEMENT, _WIDER]), data)
    if match is None:
        return data
    name = rng.choice([match[1], rng.choice(NAMES).encode()])
    depth = rng.choice([1, 2, 10, 80, 3000])
    return _replaced(data, match, (b"<" + name + b">") * depth + match[0] + (b"</" + name + b">") * depth)


def rename_tags(rng: random.Random, data: bytes) -> bytes:
    match = _pick(rng, _ELEMENT, data)
    if match is None:
        return data
    name = rng.choice(NAMES).encode()
    if rng.random() < 0.5:
        return re.sub(rb"(</?)" + re.escape(match[1]) + rb"\b", lambda found: found[1] + name, data)
    return _replaced(data, match, match[0].replace(match[1], name))


def wrap_text(rng: random.Random, data: bytes) -> bytes:
    match = _pick(rng, _TEXT, data)
    before, after = rng.choice(
        [(b"<![CDATA[", b"]]>"), (b"<!--", b"-->"), (b"<b>", b"</b>"), (b"<?pi ", b"?>"), (b" " * 9000, b"\n" * 9000)]
    )
    return data if match is None else _replaced(data, match, before + match[1] + after, 1)


def change_text(rng: random.Random, data: bytes) -> bytes:
    return _replaced(data, _pick(rng, _TEXT, data), rng.choice(VALUES).replace("<", "&lt;").encode(), 1)


def change_many_texts(rng: random.Random, data: bytes) -> bytes:
    return _TEXT.sub(
        lambda found: b">" + rng.choice(VALUES).encode()[:400] + b"<" if rng.random() < 0.2 else found[0], data
    )


def change_attribute(rng: random.Random, data: bytes) -> bytes:
    match = _pick(rng, _ATTRIBUTE, data)
    if match is None:
        return data
    name = match[0].partition(b"=")[0]
    value = rng.choice(VALUES).replace('"', "'").replace("<", "").encode()
    return _replaced(data, match, rng.choice([b"", match[0] * 2, name + b'="' + value + b'"', name, name + b"='>'"]))


def add_attributes(rng: random.Random, data: bytes) -> bytes:
    match = _pick(rng, _TAG, data)
    if match is None:
        return data
    count = rng.choice([1, 1, 3, 300, 9000])
    prefix = rng.choice([" a", " xmlns:p", " xml:x", " id"])
    value = rng.choice(VALUES).replace('"', "").replace("<", "")[:200]
    added = "".join(f'{prefix}{number}="{value}"' for number in range(count)).encode()
    at = match.end() - (2 if match[0].endswith(b"/>") else 1)
    return data[:at] + added + data[at:]


def many_names(rng: random.Random, data: bytes) -> bytes:
    match = _pick(rng, _TAG, data)
    at = match.end() if match else 0
    count, length = rng.choice([(30, 1), (6000, 1), (50, 900), (4, 60_000), (900, 200)])
    return data[:at] + b"".join(b"<%s%d/>" % (b"n" * length, number) for number in range(count)) + data[at:]


def redeclare(rng: random.Random, data: bytes) -> bytes:
    name = rng.choice(ENCODINGS)
    quote = rng.choice("\"'")
    space = rng.choice(["", " ", "\n\t", " " * 150, " " * 3000])
    declaration = rng.choice(
        [
            f"<?xml version={quote}1.0{quote} encoding{space}={space}{quote}{name}{quote}?>",
            f"<?xml{space or ' '}version={quote}1.0{quote} encoding={quote}{name}{quote}{space}?>",
            f"<?xml version={quote}1.0{quote} encoding={quote}{name}{quote} standalone={quote}yes{quote}?>",
            f"<?xml encoding={quote}{name}{quote}?>",
            f"<?xml version={quote}1.1{quote} encoding={quote}{name}{quote}?>",
            f"<?xml version={quote}1.0{quote} encoding={quote}{name}?>",
            "",
        ]
    ).encode()
    return declaration + _DECLARATION.sub(b"", data, count=1)


def recode(rng: random.Random, data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode(rng.choice(CODECS), "replace")


def add_mark(rng: random.Random, data: bytes) -> bytes:
    return rng.choice(MARKS) + data


def add_doctype(rng: random.Random, data: bytes) -> bytes:
    subset = b"".join(rng.choice(DECLARATIONS) for _ in range(rng.choice([1, 2, 5])))
    name = rng.choice([b"yml_catalog", b"rss", b"x"])
    outer = rng.choice([b"", b"", b' SYSTEM "shops.dtd"', b' PUBLIC "a" "b"'])
    declaration = _DECLARATION.match(data)
    at = declaration.end() if declaration else 0
    doctype = b"<!DOCTYPE " + name + outer + rng.choice([b" [" + subset + b"]", b""]) + b">"
    changed = data[:at] + doctype + data[at:]
    if rng.random() < 0.7:
        match = _pick(rng, _TEXT, changed)
        changed = _replaced(changed, match, rng.choice([b"&x;", b"&x;" * 300, b"&nbsp;"]), 1)
    return changed


def pack_gzip(rng: random.Random, data: bytes) -> bytes:
    if rng.random() < 0.5:
        return gzip.compress(data, 1)
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice([1, 5, 40])))
    pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    return b"".join(gzip.compress(piece, 1) for piece in pieces) + rng.choice([b"", b"", b"\0" * 600, b"x"])


def pack_zip(rng: random.Random, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", rng.choice(METHODS)) as archive:
        for name in rng.choice(MEMBERS):
            with archive.open(name, "w", force_zip64=rng.random() < 0.2) as member:
                member.write(b"" if name.endswith("/") else data)
        archive.comment = rng.choice([b"", b"c" * 300, b"PK\5\6" * 9])
    return buffer.getvalue()


def patch_numbers(rng: random.Random, data: bytes) -> bytes:
    """Put a critical number where a container may have a length, an offset or a count."""
    if len(data) < 8:
        return data
    last = len(data) - 4
    at = rng.choice([rng.randrange(last), rng.randrange(max(0, last - 120), last), rng.randrange(4, 8)])
    form = rng.choice(["<B", "<H", "<I"])
    most = (1 << 8 * struct.calcsize(form)) - 1
    number = struct.pack(form, rng.choice([0, 1, most, most - 1, most // 2, rng.randrange(most)]))
    return data[:at] + number + data[at + len(number) :]


BYTES: list[Mutation] = [flip_bits, set_bytes, delete_span, repeat_span, move_span, cut_end, cut_start, insert_token]
MARKUP: list[Mutation] = [
    insert_token_at_tag, repeat_element, empty_element, empty_all_elements, drop_element, nest_element, rename_tags,
    wrap_text, change_text, change_many_texts, change_attribute, add_attributes, many_names,
]  # fmt: skip
# Mutations that mostly leave a file well-formed.
KIND: list[Mutation] = [
    repeat_element, empty_element, empty_all_elements, drop_element, nest_element, rename_tags, wrap_text, change_text,
    change_text, change_many_texts, change_attribute, add_attributes,
]  # fmt: skip
CHARACTERS: list[Mutation] = [redeclare, recode, add_mark, add_doctype]
CONTAINERS: list[Mutation] = [pack_gzip, pack_zip]


def mutate(rng: random.Random, data: bytes) -> bytes:
    """Return a changed file of bounded size; most changes affect markup and values, so that much of it is read."""
    is_kind = rng.random() < 0.6
    for _ in range(rng.choice([1, 1, 2, 2, 3, 5])):
        kind = KIND if is_kind else rng.choices([MARKUP, BYTES, CHARACTERS], [6, 2, 2])[0]
        data = rng.choice(kind)(rng, data)[:_MOST_BYTES]
    if rng.random() < 0.15:
        for _ in range(rng.choice([1, 1, 1, 2])):
            data = rng.choice(CONTAINERS)(rng, data)
        for _ in range(rng.choice([0, 1, 2, 4])):
            data = rng.choice([*BYTES, patch_numbers, patch_numbers, patch_numbers])(rng, data)
    return data
