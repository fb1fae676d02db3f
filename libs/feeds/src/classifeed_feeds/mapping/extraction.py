"""Extract the texts of an offer by a format's table of elements, before they are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from lxml import etree

from classifeed_feeds.scanning.elements import FeedElement, PlainElement, Row
from classifeed_feeds.scanning.shape import inner_text

NOTHING: Final[frozenset[etree._Element]] = frozenset()


class GatheredOffer:
    """Texts of an offer: `texts` by meaning, `params` as name, value and unit."""

    __slots__ = ("barcodes", "params", "pictures", "texts")

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.pictures: list[str] = []
        self.params: list[tuple[str, str, str]] = []
        self.barcodes: list[str] = []

    def note(self, meaning: str, text: str) -> None:
        """Add a text, unless it is blank or there is already one with its meaning."""
        if meaning not in self.texts and (text := text.strip()):
            self.texts[meaning] = text


Take = Callable[[GatheredOffer, FeedElement], None]


@dataclass(frozen=True, slots=True)
class TagTable:
    """Meanings of an offer's elements, by their names in lxml's notation.

    Attributes:
        single: Meanings of elements that are read as one text each; of several elements with one meaning, the first
            that is not blank counts.
        picture: Elements with links of pictures.
        special: Functions that read other elements.
        markup: Meanings of `single` whose elements may contain markup outside of CDATA.
        special_meanings: Meanings of the elements in `special`, for messages.
    """

    single: Mapping[str, str]
    picture: frozenset[str]
    special: Mapping[str, Take]
    markup: frozenset[str]
    special_meanings: Mapping[str, str] = field(default_factory=dict)

    def gather(self, children: Iterable[etree._Element]) -> GatheredOffer:
        """Return the texts of an offer with these child elements."""
        markup, meaning_of = self.markup, self.single.get
        rows = (
            (child.tag, child, inner_text(child) if meaning_of(child.tag) in markup else child.text)
            for child in children
        )
        return self._gather(rows, itemgetter(1))

    def gather_rows(self, rows: Iterable[Row]) -> GatheredOffer:
        """Return the texts of an offer whose elements have these names, attributes and texts."""
        return self._gather(rows, PlainElement)

    def _gather(
        self, rows: Iterable[tuple[str, Any, str | None]], element_of: Callable[[Any], FeedElement]
    ) -> GatheredOffer:
        """Return the texts of an offer from rows of name, element data and text."""
        gathered = GatheredOffer()
        texts = gathered.texts
        meaning_of, take_of, pictures = self.single.get, self.special.get, self.picture
        for row in rows:
            tag, _, text = row
            meaning = meaning_of(tag)
            if meaning is not None:
                if text and meaning not in texts and (text := text.strip()):
                    texts[meaning] = text
            elif tag in pictures:
                gathered.pictures.append((text or "").strip())
            elif (take := take_of(tag)) is not None:
                take(gathered, element_of(row))
        return gathered

    def elements(self, children: Iterable[FeedElement]) -> dict[str, FeedElement]:
        """Return the elements of an offer by meaning; slow, for messages."""
        found: dict[str, FeedElement] = {}
        for child in children:
            tag = child.tag
            meaning = self.single.get(tag)
            is_single = meaning is not None
            if meaning is None:
                meaning = self.special_meanings.get(tag)
            if meaning is not None and meaning not in found and (not is_single or inner_text(child).strip()):
                found[meaning] = child
        return found

    def pictures(self, children: Iterable[FeedElement]) -> list[FeedElement]:
        """Return the elements of `GatheredOffer.pictures`; slow, for messages."""
        return [child for child in children if child.tag in self.picture]


def take_barcode(gathered: GatheredOffer, element: FeedElement) -> None:
    """Add the text of an element as a barcode."""
    if text := (element.text or "").strip():
        gathered.barcodes.append(text)


def take_named_param(gathered: GatheredOffer, element: FeedElement) -> None:
    """Add the text of an element as an attribute of the offer, with name and unit from XML attributes."""
    text = (element.text or "").strip()
    if text and (name := element.get("name")):
        gathered.params.append((name.strip(), text, (element.get("unit") or "").strip()))
