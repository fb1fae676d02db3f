"""The message about a file that cannot be loaded has the fault, its position, and the fix for this fault."""

from __future__ import annotations

import codecs
import io
import re
import zipfile

import pytest

from classifeed_feeds.faults import FeedFault

from ..conftest import Load, Scan, WriteOffer, WriteYml


def fault_of(scan: Scan, content: bytes) -> FeedFault:
    with pytest.raises(FeedFault) as caught:
        scan(content)
    return caught.value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Чай & кофе", "Чай & кофе"),
        ("H&M", "H&M"),
        ("https://shop.test/?a=1&b=2", "?a=1&b=2"),
        ("https://shop.test/?a=1&copy=2", "&copy=2"),
        ("AT&T", "AT&T"),
        ("a &", "a &"),
        ("Ж&Ж", "Ж&Ж"),
        ("a &#x; b", "&#x;"),
        ("R&D; &&", "&&"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "cp1251"])
def test_a_bare_ampersand_is_named_at_its_place(
    scan: Scan, yml: WriteYml, offer: WriteOffer, text: str, shown: str, encoding: str
) -> None:
    declared = "UTF-8" if encoding == "utf-8" else "windows-1251"
    text = text.replace("R&D;", "R&amp;D")
    prolog = f'<?xml version="1.0" encoding="{declared}"?>\n'
    feed = yml(offer("a"), offer("b", url=text), prolog=prolog, encoding=encoding)
    fault = fault_of(scan, feed)
    lines = feed.decode(encoding).split("\n")
    line = next(number for number, each in enumerate(lines, 1) if text in each)
    at = lines[line - 1].index(text) + (text.rindex("&&") if "&&" in text else text.index("&"))
    assert (fault.code, fault.line, fault.column) == ("MALFORMED_XML", line, at + 1)
    assert fault.reason.startswith("There is a bare & in “")
    assert shown.split(maxsplit=1)[0] in fault.reason
    assert "Write &amp; for each &" in fault.message
    assert "&lt;" not in fault.message


def listed(fault: FeedFault) -> list[str]:
    [note] = [note for note in fault.notes if note.startswith("There is a bare & in ")]
    return note.partition(" by line and column: ")[2].split(", ")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1251", "utf-16"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_each_bare_ampersand_is_named_and_no_other(
    scan: Scan, yml: WriteYml, offer: WriteOffer, encoding: str, line_break: str
) -> None:
    far = "Ж&amp;" * 100_000  # more than one read
    texts = (
        "Ж&Ж",
        "a&amp;b &#38; &#x26; c",
        "?a=1&b=2&copy=3",
        f"<!-- & --> {far} <![CDATA[ & ]]> & <?a & ?>",
        "&",
        "я &\n&",
    )
    declared = {"utf-8": "UTF-8", "cp1251": "windows-1251", "utf-16": "UTF-16"}[encoding]
    prolog = f'<?xml version="1.0" encoding="{declared}"?>\n'
    feed = yml(*(offer(f"o{n}", name=text) for n, text in enumerate(texts)), prolog=prolog).decode()
    fault = fault_of(scan, feed.replace("\n", line_break).encode(encoding))
    kept = re.sub(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|&(amp|#38|#x26);", lambda found: "x" * len(found[0]), feed)
    expected = [
        f"{number}:{found.start() + 1}"
        for number, line in enumerate(kept.split("\n"), 1)
        for found in re.finditer("&", line)
    ]
    assert len(expected) == 7
    assert listed(fault) == expected
    assert f"{fault.line}:{fault.column}" == expected[0]
    assert "in 7 places. All by line" in fault.message


def test_of_many_bare_ampersands_the_first_are_named_and_all_are_counted(
    scan: Scan, yml: WriteYml, offer: WriteOffer
) -> None:
    fault = fault_of(scan, yml(*(offer(f"o{n}", name="a & b") for n in range(1_234))))
    assert "in 1,234 places. The first 100 by line" in fault.message
    assert len(listed(fault)) == 100
    endless = fault_of(scan, yml(offer("a", name="&" * 3_000_000)))
    assert "in at least 10,000 places" in endless.message


def test_a_single_bare_ampersand_has_no_list(scan: Scan, yml: WriteYml, offer: WriteOffer) -> None:
    assert fault_of(scan, yml(offer("a", name="a & b"))).notes == ()


@pytest.mark.parametrize("share", [0.3, 0.6, 0.99])
def test_a_file_that_is_cut_off_shows_its_end_and_has_a_fix_of_its_own(
    scan: Scan, yml: WriteYml, offer: WriteOffer, share: float
) -> None:
    feed = yml(*(offer(f"a{n}", name="Чайник стальной") for n in range(50)))
    for cut in range(int(len(feed) * share), int(len(feed) * share) + 40):
        fault = fault_of(scan, feed[:cut])
        assert fault.code == "MALFORMED_XML", "also where a character is cut in two"
        assert "it is cut off. Its last 100 characters are “" in fault.message
        end = " ".join(feed[:cut].decode("utf-8", "replace")[-100:].split())
        assert end in fault.message
        assert "Export the file again" in fault.message
        assert "joining strings" not in fault.message


def test_a_broken_character_in_the_middle_is_no_cut(scan: Scan, yml: WriteYml, offer: WriteOffer) -> None:
    feed = yml(*(offer(f"a{n}") for n in range(20)))
    at = feed.index("Чай".encode(), len(feed) // 2)
    assert fault_of(scan, feed[: at + 1] + feed[at + 2 :]).code == "ENCODING_WRONG"


@pytest.mark.parametrize(
    ("name", "fix"),
    [("nbsp", "Write &#160; instead of &nbsp;"), ("laquo", "Write &#171;"), ("shop", "Write &amp;shop;")],
)
@pytest.mark.parametrize("doctype", ["", '<!DOCTYPE yml_catalog SYSTEM "shops.dtd">\n'])
@pytest.mark.parametrize("place", ["text", "attribute"])
def test_an_undefined_entity_is_named_with_its_fix(
    scan: Scan, yml: WriteYml, offer: WriteOffer, name: str, fix: str, doctype: str, place: str
) -> None:
    bad = offer("b", name=f"a&{name};b") if place == "text" else offer("b").replace('id="b"', f'id="b" x="&{name};"')
    fault = fault_of(scan, yml(offer("a"), bad, prolog='<?xml version="1.0" encoding="UTF-8"?>\n' + doctype))
    assert fault.code == "MALFORMED_XML"
    assert fault.line == 8 + bool(doctype)
    assert f"&{name}; is not known in XML" in fault.message
    assert fix in fault.message


@pytest.mark.parametrize(
    "before",
    [
        codecs.BOM_UTF8 * 2,
        codecs.BOM_UTF8 + b"\n" + codecs.BOM_UTF8,
        b"\n" + codecs.BOM_UTF8,
        codecs.BOM_UTF8 * 3 + b" \n",
    ],
)
def test_marks_may_stand_twice(load: Load, yml: WriteYml, offer: WriteOffer, before: bytes) -> None:
    loaded = load(before + yml(offer("a"), offer("b", price="x")))
    assert [record.content.title for record in loaded.records] == ["Чайник"] * 2
    assert [error.line for error in loaded.records[1].errors] == [8 + before.count(b"\n")]


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_marks_of_utf_16_may_stand_twice(load: Load, yml: WriteYml, offer: WriteOffer, codec: str) -> None:
    feed = yml(offer("a", name="Ёлка"), prolog='<?xml version="1.0" encoding="UTF-16"?>\n').decode()
    assert [record.content.title for record in load(("\ufeff\ufeff" + feed).encode(codec)).records] == ["Ёлка"]


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, b"<x/>")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'<Ads formatVersion="3" target="Avito.ru"><Ad/></Ads>', "a feed for Avito's autoload"),
        (b'<realty-feed xmlns="http://webmaster.yandex.ru/x"><offer/></realty-feed>', "a feed for Yandex Realty"),
        (b"<feed><feed_version>2</feed_version><object/></feed>", "a feed for CIAN"),
        (b"<data>\n<cars><car/></cars></data>", "a feed for auto.ru"),
        (b"<root><kyero><feed_version>3</feed_version></kyero></root>", "a feed for Kyero"),
        (b"<urlset><url/></urlset>", "a sitemap"),
        (b"id;name;price\n1;Cup;5\n2;Pan;7\n", "a table (CSV with semicolons between columns id, name, price)"),
        (b"id\ttitle\n1\tCup\n2\tPan\n", "a table (TSV with tabs between columns id, title)"),
        ("код,цена\n1,5\n".encode("cp1251"), "a table (CSV with commas"),
        (zipped("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook (XLSX), a table"),
        (b"\xd0\xcf\x11\xe0" + bytes(100), "a table of Excel (XLS)"),
    ],
)
def test_other_formats_are_called_by_their_names_with_what_can_be_done(scan: Scan, content: bytes, words: str) -> None:
    fault = fault_of(scan, content)
    assert fault.code == "UNKNOWN_FORMAT"
    assert f"The file is {words}" in fault.message
    if "XLS)" not in words:
        assert "cannot be loaded yet" in fault.message
        assert "YML or Google's product data" in fault.message
    assert "classifeed feed formats" in fault.message


@pytest.mark.parametrize("content", [b"<root><a/></root>", b"<data/>", b"one, two\nthree", b"id;name"])
def test_what_only_looks_like_one_of_them_is_not_called_so(scan: Scan, content: bytes) -> None:
    fault = fault_of(scan, content)
    assert "Kyero" not in fault.reason
    assert "auto.ru" not in fault.reason
    assert "a table" not in fault.reason
