"""XML Schema of an offer, extended by the tags of a file, and the issues of offers that violate it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files

from lxml import etree

from classifeed_feeds.mapping.extraction import NOTHING
from classifeed_feeds.mapping.issues import IssueWriter
from classifeed_feeds.scanning.shape import inner_text

_XS = "{http://www.w3.org/2001/XMLSchema}"
_SCHEMA_PATH = re.compile(r"/offer/(?P<tag>[^/\[]+)(?:\[(?P<nth>\d+)\])?")
_ANYTHING = """
<xs:complexType xmlns:xs="http://www.w3.org/2001/XMLSchema" name="anything" mixed="true">
  <xs:sequence><xs:any minOccurs="0" maxOccurs="unbounded" processContents="skip"/></xs:sequence>
  <xs:anyAttribute processContents="skip"/>
</xs:complexType>
"""


@dataclass(frozen=True)
class OfferSchema:
    """A schema file that declares the element `offer` as a choice of elements, in any order and number.

    Attributes:
        package: Python package that contains the file.
        file_name: Name of the file.
    """

    package: str
    file_name: str

    @cached_property
    def known_tags(self) -> frozenset[str]:
        """The elements that an offer may have without an issue."""
        return frozenset(str(element.get("name")) for element in _choice(self._parse()).iterfind(f"{_XS}element"))

    def unknown_tags(self, child_tags: Iterable[str]) -> list[str]:
        """Return, sorted, the tags without a namespace that the schema does not list."""
        return sorted(tag for tag in child_tags if " " not in tag and tag not in self.known_tags)

    def compile(self, child_tags: Iterable[str]) -> etree.XMLSchema:
        """Return the schema for a file whose offers have these child tags.

        Unlisted tags are added with arbitrary content. Otherwise libxml2 would stop at an unexpected element and not
        check the rest of the offer, for example a wrong price after it.
        """
        schema = self._parse()
        choice = _choice(schema)
        for tag in self.unknown_tags(child_tags):
            etree.SubElement(choice, f"{_XS}element", name=tag, type="anything")
        if choice.find(f"{_XS}any") is None:
            etree.SubElement(choice, f"{_XS}any", namespace="##other", processContents="skip")
        if schema.find(f"{_XS}complexType[@name='anything']") is None:
            schema.append(etree.fromstring(_ANYTHING))
        return etree.XMLSchema(schema)

    def _parse(self) -> etree._Element:
        # Parsed for each file: nodes of lxml share a dictionary with their thread and must not leave it.
        return etree.fromstring(files(self.package).joinpath(self.file_name).read_bytes())


@dataclass(frozen=True, slots=True)
class SchemaWords:
    """Codes and texts of issues about violations of a schema.

    Attributes:
        codes: Special codes by element.
        expected: Descriptions of accepted values, by element; the default is a short text.
        lenient: Elements whose text the mapping reads and checks even if the schema rejects it.
    """

    codes: Mapping[str, str]
    expected: Mapping[str, str]
    lenient: frozenset[str] = frozenset()


class OfferValidator:
    """Validates the offers of one file."""

    def __init__(self, schema: OfferSchema, child_tags: Iterable[str], words: SchemaWords) -> None:
        self._schema = schema.compile(child_tags)
        self._validate = self._schema.validate
        self._words = words

    def refuse(
        self, offer: etree._Element, children: Iterable[etree._Element], issues: IssueWriter
    ) -> frozenset[etree._Element]:
        """Validate an offer with these children, add its issues, and return the children to treat as absent."""
        return NOTHING if self._validate(offer) else self._report(children, issues)

    def _report(self, children: Iterable[etree._Element], issues: IssueWriter) -> frozenset[etree._Element]:
        words = self._words
        refused: set[etree._Element] = set()
        by_tag: dict[str, list[etree._Element]] = {}
        for child in children:
            if (same := by_tag.get(child.tag)) is None:
                by_tag[child.tag] = [child]
            else:
                same.append(child)
        reported = ""
        for error in self._schema.error_log:  # type: ignore[attr-defined]
            path = error.path or ""
            # libxml2 reports a wrong value two or three times. The mapping reports wrong attributes of the offer.
            if path == reported or (place := _child_at(path)) is None:
                continue
            reported = path
            tag, nth = place
            found = by_tag.get(tag, [])
            element = found[nth - 1] if len(found) >= nth else None
            if element is None or element in refused or (tag in words.lenient and not len(element)):
                continue
            refused.add(element)
            expected = words.expected.get(tag, "at most 512 characters")
            code = words.codes.get(tag, "FIELD_INVALID")
            issues.add(code, field=tag, element=element, value=_value(element), expected=expected)
        return frozenset(refused)


@lru_cache(maxsize=1_024)
def _child_at(path: str) -> tuple[str, int] | None:
    """Return the name of the offer's child in a path of libxml2, and its number among those of its name."""
    match = _SCHEMA_PATH.match(path)
    return None if match is None else (match["tag"], int(match["nth"] or 1))


def _value(element: etree._Element) -> str:
    """Return the value of an element: its text, or the values of its attributes if it has no text."""
    return inner_text(element).strip() or ", ".join(str(value) for value in element.attrib.values())


def _choice(schema: etree._Element) -> etree._Element:
    offer = schema.find(f"{_XS}element[@name='offer']")
    kind = "" if offer is None else offer.get("type", "")
    holder = schema.find(f"{_XS}complexType[@name='{kind}']") if kind else schema.find(f"{_XS}element/{_XS}complexType")
    choice = None if holder is None else holder.find(f"{_XS}choice")
    if choice is None:
        raise ValueError("the schema has no choice of elements for an offer")
    return choice
