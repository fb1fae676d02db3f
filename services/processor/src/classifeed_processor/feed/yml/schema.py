"""The schema of one YML offer, made to fit the tags that a file has."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from lxml import etree

_XS = "{http://www.w3.org/2001/XMLSchema}"


def _template() -> etree._Element:
    # Parsed anew each time: nodes of lxml share a dictionary with what their thread parses and must stay in it.
    return etree.fromstring(files(__package__).joinpath("yml-offer.xsd").read_bytes())


@cache
def known_tags() -> frozenset[str]:
    """Returns the elements that an offer may have without a word being said."""
    names = _choice(_template()).iterfind(f"{_XS}element")
    return frozenset(str(element.get("name")) for element in names)


def unknown_tags(child_tags: Iterable[str]) -> list[str]:
    """Returns, in order, the tags without a namespace that the schema does not list."""
    return sorted(tag for tag in child_tags if " " not in tag and tag not in known_tags())


def compile_schema(child_tags: Iterable[str]) -> etree.XMLSchema:
    """Returns the schema for a file whose offers have these tags straight under them.

    Unlisted ones are added as anything at all: after an element that a schema does not expect, libxml2 stops looking at
    the rest of the offer, and a wrong price behind an unknown tag would pass.
    """
    schema = _template()
    choice = _choice(schema)
    for tag in unknown_tags(child_tags):
        etree.SubElement(choice, f"{_XS}element", name=tag, type="anything")
    choice.append(choice.find(f"{_XS}any"))  # type: ignore[arg-type]
    return etree.XMLSchema(schema)


def _choice(schema: etree._Element) -> etree._Element:
    choice = schema.find(f"{_XS}element/{_XS}complexType/{_XS}choice")
    if choice is None:
        raise ValueError("yml-offer.xsd has no choice of elements")
    return choice
