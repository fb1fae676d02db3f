"""Structure of an XML format: the path to its offers, their names, and the places of their ids.

Names of elements are in expat's notation: the namespace, a blank and the local name, or only the local name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from classifeed_feeds.scanning.elements import FeedElement, FeedOffer, PlainElement

MAX_ID_CHARS = 256


@dataclass(frozen=True, slots=True)
class IdRule:
    """Place of an offer's id: an attribute, or one of its elements.

    Attributes:
        attribute: Name of the attribute; empty: an element has the id.
        ranks: Child elements that may contain the id, with their ranks. Of those that are not empty, the one with the
            lowest rank counts; with equal ranks, the first one.
    """

    attribute: str = ""
    ranks: Mapping[str, int] = field(default_factory=dict)

    def read(self, offer: FeedOffer) -> str:
        """Return the id without blanks around it; empty: the offer has none."""
        if self.attribute:
            return (offer.get(self.attribute) or "").strip()
        best, best_rank = "", len(self.ranks)
        for child in offer:
            rank = self.ranks.get(expat_name(str(child.tag)), best_rank)
            if rank < best_rank and (text := inner_text(child).strip()):
                best, best_rank = text, rank
        return best


@dataclass(frozen=True, slots=True)
class OfferShape:
    """Structure of a format.

    Attributes:
        containers: Allowed names of the element on each level, from the root to the parent of the offers.
        offers: Allowed names of an offer's element.
        ids: Rule for the id of an offer.
    """

    containers: tuple[frozenset[str], ...]
    offers: frozenset[str]
    ids: IdRule

    @property
    def offer_tags(self) -> list[str]:
        """The names of offers in lxml's notation."""
        return sorted(lxml_name(name) for name in self.offers)

    def is_container(self, element: etree._Element | None) -> bool:
        """Return whether this element may contain offers, as in the first pass."""
        for names in reversed(self.containers):
            if element is None or expat_name(str(element.tag)) not in names:
                return False
            element = element.getparent()
        return element is None


def lxml_name(name: str) -> str:
    """Convert an element's name to lxml's notation."""
    namespace, _, local = name.rpartition(" ")
    return f"{{{namespace}}}{local}" if namespace else local


def expat_name(name: str) -> str:
    """Convert an element's name to expat's notation."""
    return name[1:].replace("}", " ", 1) if name.startswith("{") else name


def inner_text(element: FeedElement) -> str:
    """Return all text inside an element, without its markup."""
    if isinstance(element, PlainElement) or not len(element):
        return element.text or ""
    return "".join(str(text) for text in element.itertext())
