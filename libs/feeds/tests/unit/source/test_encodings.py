"""Texts are read as they were written, and a wrong declaration is detected."""

from __future__ import annotations

import pytest

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.formats.sniff import _NATIVE_CODECS

from ...conftest import Load, Scan, WriteOffer, WriteYml

TEXT = "Съёмный жёсткий диск № 5"


def feed(yml: WriteYml, offer: WriteOffer, declared: str, written: str, text: str = TEXT) -> bytes:
    prolog = f'<?xml version="1.0" encoding="{declared}"?>\n' if declared else ""
    return yml(offer("a", name=text), offer("b", price="x", name=text), prolog=prolog, encoding=written)


@pytest.mark.parametrize(
    ("declared", "written"),
    [
        ("UTF-8", "utf-8"),
        ("", "utf-8"),
        ("windows-1251", "cp1251"),
        ("koi8-r", "koi8-r"),
        ("cp866", "cp866"),
        ("US-ASCII", "utf-8"),
    ],
)
def test_declared_encodings_are_read(load: Load, yml: WriteYml, offer: WriteOffer, declared: str, written: str) -> None:
    text = TEXT if written not in {"koi8-r"} else TEXT.replace("№", "N")
    loaded = load(feed(yml, offer, declared, written, text))
    assert [record.content.title for record in loaded.records] == [text, text]
    assert loaded.scan.warnings == ()
    (issue,) = loaded.records[1].errors
    assert issue.excerpt.startswith("<price>x</price>")


@pytest.mark.parametrize("declared", ["UTF-8", ""])
def test_windows_1251_under_another_name_is_read_with_a_warning(
    load: Load, yml: WriteYml, offer: WriteOffer, declared: str
) -> None:
    loaded = load(feed(yml, offer, declared, "cp1251"))
    assert [record.content.title for record in loaded.records] == [TEXT, TEXT]
    assert any("windows-1251" in warning for warning in loaded.scan.warnings)
    # Columns count characters of the detected encoding.
    line = feed(yml, offer, declared, "cp1251").decode("cp1251").split("\n")[loaded.records[1].line - 1]
    assert loaded.records[1].errors[0].column == line.index("<price>") + 1


def test_utf8_that_is_called_windows_1251_is_read_with_a_warning(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    loaded = load(feed(yml, offer, "windows-1251", "utf-8"))
    assert [record.content.title for record in loaded.records] == [TEXT, TEXT]
    assert any("UTF-8" in warning for warning in loaded.scan.warnings)


def test_a_broken_byte_in_utf8_does_not_turn_the_file_into_windows_1251(
    scan: Scan, yml: WriteYml, offer: WriteOffer
) -> None:
    content = feed(yml, offer, "UTF-8", "utf-8").replace("диск".encode(), "ди".encode() + b"\xd1" + "ск".encode(), 1)
    with pytest.raises(FeedFault) as caught:
        scan(content)
    assert caught.value.code == "ENCODING_WRONG"
    assert caught.value.line == 7


def test_a_malformed_file_in_windows_1251_is_reported_as_malformed(
    scan: Scan, yml: WriteYml, offer: WriteOffer
) -> None:
    with pytest.raises(FeedFault) as caught:
        scan(feed(yml, offer, "windows-1251", "cp1251", "Чай & кофе"))
    assert (caught.value.code, caught.value.line) == ("MALFORMED_XML", 7)


@pytest.mark.parametrize(
    "declaration",
    [
        f'<?xml version="1.0" encoding="{"x" * 41}"?>',
        f'<?xml version="1.0" encoding="{"x" * 300}"?>',
        '<?xml version="1.0" encoding="klingon"?>',
        '<?xml version="1.0" encoding="UTF-7"?>',
        '<?xml version="1.0" encoding="hex"?>',
        '<?xml version="1.0" encoding="unicode_escape"?>',
        '<?xml version="1.0" encoding="idna"?>',
        '<?xml version="1.0" encoding="aliases"?>',
        '<?xml version="1.0" encoding="gb18030"?>',
        '<?xml version="1.0" encoding="utf-32"?>',
        "<?xml version='1.0' encoding='EBCDIC-CP-US'?>",
        '<?xml version="1.0" encoding="ав"?>',
        '<?xml version="1.0" encoding="a&#98;"?>',
        '<?xml version="1.0" encoding="a\tb"?>',
        f'<?xml version="1.0"{" " * 500}encoding = "klingon"?>',
        '<?xml version="1.0"\nencoding\n=\n"klingon" standalone="no"?>',
    ],
)
def test_encodings_that_are_not_read_are_refused_by_their_name(
    scan: Scan, yml: WriteYml, offer: WriteOffer, declaration: str
) -> None:
    with pytest.raises(FeedFault) as caught:
        scan(yml(offer("a"), prolog=declaration))
    assert (caught.value.code, caught.value.line) == ("ENCODING_UNKNOWN", 1)
    assert len(caught.value.reason) < 200


@pytest.mark.parametrize(
    ("declaration", "code"),
    [
        (f'<?xml version="1.0"{" " * 1000}?>', "MALFORMED_XML"),
        (f'<?xml version="1.0" encoding="windows-1251"{" " * 70_000}?>', "MALFORMED_XML"),
        ('<?xml version="1.0" encoding="windows-1251"', "MALFORMED_XML"),
        ('<?xml encoding="UTF-8" version="1.0"?>', "MALFORMED_XML"),
        ('<?xml version="1.0" encoding=""?>', "MALFORMED_XML"),
        ('<?xml version="1.0" encoding="UTF-8\'?>', "MALFORMED_XML"),
        ('<?xml version="1.0" encoding="UTF-8" encoding="UTF-8"?>', "MALFORMED_XML"),
    ],
)
def test_declarations_that_are_none_are_refused(
    scan: Scan, yml: WriteYml, offer: WriteOffer, declaration: str, code: str
) -> None:
    with pytest.raises(FeedFault) as caught:
        scan(yml(offer("a"), prolog=declaration))
    assert (caught.value.code, caught.value.line) == (code, 1)


@pytest.mark.parametrize(
    "declaration",
    [
        '<?xml version="1.0" encoding="windows-1251"?>',
        "<?xml version='1.0' encoding='CP1251' standalone='yes' ?>",
        f'<?xml version="1.0"{" " * 900}encoding\n=\t"Windows-1251"?>',
        f'<?xml {" " * 300}version="1.0" encoding="windows-1251"?>',
    ],
)
def test_what_is_declared_is_forced_on_both_parsers_however_it_is_written(
    load: Load, yml: WriteYml, offer: WriteOffer, declaration: str
) -> None:
    loaded = load(yml(offer("a", name=TEXT), prolog=declaration, encoding="cp1251"))
    assert [record.content.title for record in loaded.records] == [TEXT]
    assert (loaded.scan.encoding, loaded.scan.warnings) == ("cp1251", ())


def test_a_mark_says_more_than_a_name(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    content = yml(offer("a", name="Ёж"), prolog='<?xml version="1.0" encoding="windows-1251"?>')
    assert [record.content.title for record in load(b"\xef\xbb\xbf" + content).records] == ["Ёж"]


def test_each_encoding_means_the_same_to_both_parsers(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    """Byte by byte, because a byte that only one parser accepts would stop a load half-way."""
    for name in sorted(_NATIVE_CODECS):
        for byte in range(0x80, 0x100):
            text = bytes([byte]).decode(name, "replace")
            head, _, tail = yml(offer("a", name="x@"), prolog=f'<?xml version="1.0" encoding="{name}"?>').partition(
                b"@"
            )
            content = head.decode().encode(name, "replace") + bytes([byte]) * 3 + tail.decode().encode(name, "replace")
            if text == "\ufffd":
                with pytest.raises(FeedFault):
                    load(content)
            else:
                assert load(content).records[0].content.title == " ".join(f"x{text * 3}".split()), (name, hex(byte))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("before", ["<!---->", "<!-- x --> ", "<!-- \n -->\n", "<a>", "<!--->"])
def test_many_comments_before_the_root_take_no_time(scan: Scan, yml: WriteYml, before: str) -> None:
    """A pattern for the first bytes had exponential backtracking in the number of comments."""
    with pytest.raises(FeedFault):
        scan(before.encode() * 5000 + b"<no_feed/>")
