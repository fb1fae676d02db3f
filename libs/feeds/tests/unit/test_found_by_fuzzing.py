"""Faults that the fuzzer has found, with minimal inputs."""

from __future__ import annotations

import codecs

import pytest

from classifeed_feeds.faults import FeedFault
from classifeed_feeds.formats.format import Format
from classifeed_feeds.formats.registry import FORMATS

from ..conftest import Load, Scan, WriteOffer, WriteYml

OUTER = ['SYSTEM "shops.dtd"', 'PUBLIC "a" "b"', 'SYSTEM "shops.dtd" [<!ELEMENT a ANY>]']


def fault_of(scan: Scan, content: bytes) -> FeedFault:
    with pytest.raises(FeedFault) as caught:
        scan(content)
    return caught.value


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("found", FORMATS, ids=lambda found: found.name)
def test_an_entity_that_might_be_declared_outside_is_refused_in_the_first_pass(
    scan: Scan, found: Format, outer: str
) -> None:
    """expat ignores entities that an external DTD might declare; libxml2 stopped there with half of the offers sent."""
    root = min(found.roots).rpartition(" ")[2]
    declaration, _, rest = found.read_file(found.sample).decode().partition("\n")
    title = f"<{found.names.title}>"
    text = f"{declaration}\n<!DOCTYPE {root} {outer}>\n{(title + '&nbsp;').join(rest.rsplit(title, 1))}"
    fault = fault_of(scan, text.encode())
    line = text[: text.index("&nbsp;")].count("\n") + 1
    assert (fault.code, fault.line) == ("MALFORMED_XML", line)
    assert "&nbsp; is not known in XML" in fault.message


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("padding", [0, (256 << 10) - 165, (256 << 10) - 160, (256 << 10) - 150])
def test_the_same_in_an_attribute(scan: Scan, yml: WriteYml, offer: WriteOffer, outer: str, padding: int) -> None:
    prolog = f"<!DOCTYPE yml_catalog {outer}><!--{'x' * padding}-->"
    assert (
        fault_of(scan, yml(offer("a", extra='<param name="&nbsp;">1</param>'), prolog=prolog)).code == "MALFORMED_XML"
    )


@pytest.mark.parametrize("outer", OUTER[:2])
def test_an_outer_dtd_alone_costs_no_third_look(
    load: Load, monkeypatch: pytest.MonkeyPatch, yml: WriteYml, offer: WriteOffer, outer: str
) -> None:
    """Most feeds of Russian shops have one."""
    from classifeed_feeds import first_pass

    def refuse(*_: object) -> None:
        raise AssertionError("a third look")

    monkeypatch.setattr(first_pass, "check_with_libxml2", refuse)
    content = yml(offer("a", name="A &amp; B &#8212; &lt;C&gt; &quot;&apos;"), prolog=f"<!DOCTYPE yml_catalog {outer}>")
    assert load(content).records[0].content.title == "A & B — <C> \"'"


@pytest.mark.parametrize("before", [b"", codecs.BOM_UTF8, b"\n ", codecs.BOM_UTF16_LE])
def test_a_file_that_turns_into_utf16_is_refused(scan: Scan, yml: WriteYml, offer: WriteOffer, before: bytes) -> None:
    """expat takes a zero byte after the first < for UTF-16, even if another encoding is set; libxml2 does not."""
    content = yml(offer("a"), prolog="")
    wide = content.decode().encode("utf-16-le")
    if before == codecs.BOM_UTF16_LE:
        wide = "".join(f"{char}\0" for char in content.decode()).encode("utf-16-le")
    if before:
        fault = fault_of(scan, before + wide)
        assert (fault.code, fault.line) == ("ENCODING_WRONG", 1)
    else:
        assert scan(wide).offer_count == 1
