"""A source is known by its content, never by its name."""

from __future__ import annotations

import codecs
import gzip
import io
import zipfile

import pytest

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.formats.registry import FORMATS
from classifeed_feeds.source.limits import Limits

from ...conftest import Load, Scan, WriteOffer, WriteYml


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_plain_gzip_and_zip_give_the_same_offers(load: Load, yml: WriteYml, offer: WriteOffer) -> None:
    feed = yml(offer("a"), offer("b"))
    plain = [record.SerializeToString() for record in load(feed).records]
    assert [record.SerializeToString() for record in load(gzip.compress(feed)).records] == plain
    assert [record.SerializeToString() for record in load(zipped(feed=feed)).records] == plain


@pytest.mark.parametrize("before", [b"\n\n", codecs.BOM_UTF8, codecs.BOM_UTF8 + b" \r\n\n"])
def test_marks_and_blank_lines_before_the_declaration_are_no_fault(
    load: Load, yml: WriteYml, offer: WriteOffer, before: bytes
) -> None:
    loaded = load(before + yml(offer("a"), offer("b", price="x")))
    assert len(loaded.records) == 2
    # Line numbers are those of the file as it came.
    first = yml(offer("a")).split(b"<offer ")[0].count(b"\n") + 1 + before.count(b"\n")
    assert [record.line for record in loaded.records] == [first, first + 1]
    assert [error.line for error in loaded.records[1].errors] == [first + 1]


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", [True, False])
def test_utf16_is_read(load: Load, yml: WriteYml, offer: WriteOffer, codec: str, mark: bool) -> None:
    bom = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}[codec] if mark else b""
    feed = yml(offer("a", name="Ёлка"), prolog='<?xml version="1.0" encoding="UTF-16"?>\n').decode()
    loaded = load(bom + ("\n" + feed).encode(codec))
    assert [record.content.title for record in loaded.records] == ["Ёлка"]


@pytest.mark.parametrize(
    "page",
    [
        b"<!DOCTYPE html><html><body>Login</body></html>",
        b"\n  <html>",
        b"<br />\n<b>Warning</b>: mysql_connect()",
        b"Fatal error: Uncaught PDOException in /var/www/feed.php",
        b"<b>Parse error</b>: syntax error",
        b"502 Bad Gateway",
        b"<!-- cache --><!doctype HTML>",
    ],
)
def test_a_web_page_is_no_feed(scan: Scan, page: bytes) -> None:
    with pytest.raises(FeedFault) as caught:
        scan(page)
    assert (caught.value.code, caught.value.line) == ("NOT_A_FEED", 1)
    by_link, by_upload = caught.value.describe(is_fetched=True), caught.value.describe(is_fetched=False)
    assert ["Open the link in a browser" in by_link, "the file that you sent" in by_link] == [True, False]
    assert ["Open the link in a browser" in by_upload, "the file that you sent" in by_upload] == [False, True]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "FILE_EMPTY"),
        (b" \n\t ", "FILE_EMPTY"),
        (b"id;name\n1;a\n", "UNKNOWN_FORMAT"),
        (b'{"offers": []}', "UNKNOWN_FORMAT"),
        (b"\x00\x01\x02\x03", "UNKNOWN_FORMAT"),
        (b"<rss><channel/></rss>", "UNKNOWN_FORMAT"),
        (b"Rar!\x1a\x07\x00", "UNKNOWN_FORMAT"),
        (b"\x1f\x8b\x08\x00broken", "ARCHIVE_BROKEN"),
        (b"PK\x03\x04broken", "ARCHIVE_BROKEN"),
        (zipped(a=b"<a/>", b=b"<b/>"), "ARCHIVE_AMBIGUOUS"),
        (zipped(), "ARCHIVE_AMBIGUOUS"),
        (zipped(**{"[Content_Types].xml": b"<a/>"}), "UNKNOWN_FORMAT"),
        (b"<yml_catalog/>", "STRUCTURE_WRONG"),
        (b"<yml_catalog><shop><name>a</name></shop></yml_catalog>", "STRUCTURE_WRONG"),
        (b'<?xml version="1.0" encoding="UTF-7"?><yml_catalog/>', "ENCODING_UNKNOWN"),
        (b'<?xml version="1.0" encoding="klingon"?><yml_catalog/>', "ENCODING_UNKNOWN"),
        (codecs.BOM_UTF32_LE + "<a/>".encode("utf-32-le"), "ENCODING_UNKNOWN"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(scan: Scan, content: bytes, code: str) -> None:
    with pytest.raises(FeedFault) as caught:
        scan(content)
    assert caught.value.code == code


def test_an_unknown_format_shows_its_beginning_and_what_is_known(scan: Scan) -> None:
    with pytest.raises(FeedFault) as caught:
        scan(b"id;name\n" + b"x" * 500)
    words, *known = caught.value.message.split("\n")
    assert words.startswith("The file is of no known format. It begins with “id;name ")
    assert "x" * 193 not in words
    assert words.endswith("`classifeed feed formats NAME --sample FILE` saves a sample.")
    assert max(len(sentence.split()) for sentence in words.split(". ")) <= 12, "short sentences"
    assert known == ["Known formats, by NAME:"] + [
        f"- {each.name}: {each.title}; {each.recognised_by}" for each in FORMATS
    ]


def test_of_binary_data_little_is_shown(scan: Scan) -> None:
    with pytest.raises(FeedFault) as caught:
        scan(b"x" * 30 + bytes(200))
    assert caught.value.message.startswith(f"The file is binary data. It begins with “{'x' * 30}”. Export ")
    with pytest.raises(FeedFault) as caught:
        scan(b"x" * 300 + bytes(200))
    assert f"“{'x' * 200}”" in caught.value.message


def test_a_cut_off_archive_is_refused(scan: Scan, yml: WriteYml, offer: WriteOffer) -> None:
    packed = gzip.compress(yml(*(offer(f"a{n}") for n in range(500))))
    with pytest.raises(FeedFault) as caught:
        scan(packed[: len(packed) // 2])
    assert caught.value.code == "ARCHIVE_BROKEN"


def test_an_archive_that_unpacks_to_far_too_much_is_refused_early(scan: Scan) -> None:
    limits = Limits(ratio_free_bytes=1 << 20)
    with pytest.raises(FeedFault) as caught:
        scan(gzip.compress(b"<yml_catalog>" + b" " * (64 << 20)), limits)
    assert caught.value.code == "FILE_TOO_LARGE"
    with pytest.raises(FeedFault) as caught:
        scan(b"<yml_catalog>" + b" " * (2 << 20), Limits(content_bytes=1 << 20))
    assert caught.value.code == "FILE_TOO_LARGE"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b'{"offers": []}', "JSON"),
        (b" [1, 2]", "JSON"),
        (('["' + "я" * 300 + '"]').encode(), "JSON"),
        (('[ "' + "я" * 300 + '"]').encode(), "JSON"),
        (b"[\x00\x01\x02", "binary data"),
        (b"{\xff\xfe\x93\xa0", "binary data"),
        (b"\x00\x01\x02\x03", "binary data"),
        (b"id;name", "of no known format"),
    ],
)
def test_content_is_called_what_it_is_and_shown_in_printable_characters(scan: Scan, content: bytes, name: str) -> None:
    with pytest.raises(FeedFault) as caught:
        scan(content)
    message = caught.value.message
    assert f"The file is {name}. " in message
    assert all(line.isprintable() for line in message.split("\n"))
    assert "\ufffd" not in message
