"""Texts come out as they were written, and a declaration that lies is found out."""

from __future__ import annotations

import pytest

from classifeed_processor.domain.faults import FeedFault

TEXT = "Съёмный жёсткий диск № 5"


def feed(yml, offer, declared: str, written: str, text: str = TEXT) -> bytes:
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
def test_declared_encodings_are_read(load, yml, offer, declared, written):
    text = TEXT if written not in {"koi8-r"} else TEXT.replace("№", "N")
    loaded = load(feed(yml, offer, declared, written, text))
    assert [record.content.title for record in loaded.records] == [text, text]
    assert loaded.scan.warnings == ()
    (issue,) = loaded.records[1].errors
    assert issue.excerpt.startswith("<price>x</price>")


@pytest.mark.parametrize("declared", ["UTF-8", ""])
def test_windows_1251_under_another_name_is_read_with_a_warning(load, yml, offer, declared):
    loaded = load(feed(yml, offer, declared, "cp1251"))
    assert [record.content.title for record in loaded.records] == [TEXT, TEXT]
    assert any("windows-1251" in warning for warning in loaded.scan.warnings)
    # Columns are characters of the encoding that was found.
    line = feed(yml, offer, declared, "cp1251").decode("cp1251").split("\n")[loaded.records[1].line - 1]
    assert loaded.records[1].errors[0].column == line.index("<price>") + 1


def test_utf8_that_is_called_windows_1251_is_read_with_a_warning(load, yml, offer):
    loaded = load(feed(yml, offer, "windows-1251", "utf-8"))
    assert [record.content.title for record in loaded.records] == [TEXT, TEXT]
    assert any("UTF-8" in warning for warning in loaded.scan.warnings)


def test_a_broken_byte_in_utf8_does_not_turn_the_file_into_windows_1251(scan, yml, offer):
    content = feed(yml, offer, "UTF-8", "utf-8").replace("диск".encode(), "ди".encode() + b"\xd1" + "ск".encode(), 1)
    with pytest.raises(FeedFault) as caught:
        scan(content)
    assert caught.value.code == "ENCODING_WRONG"
    assert caught.value.line == 7


def test_a_malformed_file_in_windows_1251_is_reported_as_malformed(scan, yml, offer):
    with pytest.raises(FeedFault) as caught:
        scan(feed(yml, offer, "windows-1251", "cp1251", "Чай & кофе"))
    assert (caught.value.code, caught.value.line) == ("MALFORMED_XML", 7)
