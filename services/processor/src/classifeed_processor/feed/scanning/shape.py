"""Where the offers of an XML format stand, what they are called, and where their ids are.

Names of elements are written as expat writes them: the namespace, a blank and the local name, or the local name alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

from classifeed_processor.feed.scanning.elements import FeedElement, FeedOffer, PlainElement

MAX_ID_CHARS = 256


@dataclass(frozen=True, slots=True)
class IdRule:
    """Where an offer has its id: in an attribute, or in one of its elements.

    Attributes:
        attribute: Name of the attribute; empty where elements have it.
        ranks: Elements straight under the offer that may hold the id, each with its rank; of those that are not empty
            the one with the lowest rank counts, and of several with one rank the first.
    """

    attribute: str = ""
    ranks: Mapping[str, int] = field(default_factory=dict)

    def read(self, offer: FeedOffer) -> str:
        """Return the id without blanks around it; empty when the offer has none."""
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
    """The skeleton of a format.

    Attributes:
        containers: From the root to the parent of the offers, the names that the element may have on each level.
        offers: Names that an offer may have.
        ids: Where its id is.
    """

    containers: tuple[frozenset[str], ...]
    offers: frozenset[str]
    ids: IdRule

    @property
    def offer_tags(self) -> list[str]:
        """The names of offers as lxml writes them."""
        return sorted(lxml_name(name) for name in self.offers)

    def is_container(self, element: etree._Element | None) -> bool:
        """Says whether offers straight under this element count, as in the first pass."""
        for names in reversed(self.containers):
            if element is None or expat_name(str(element.tag)) not in names:
                return False
            element = element.getparent()
        return element is None


def lxml_name(name: str) -> str:
    """Return an element's name as lxml writes it."""
    namespace, _, local = name.rpartition(" ")
    return f"{{{namespace}}}{local}" if namespace else local


def expat_name(name: str) -> str:
    """Return an element's name as expat writes it."""
    return name[1:].replace("}", " ", 1) if name.startswith("{") else name


def inner_text(element: FeedElement) -> str:
    """Return all text inside an element, without its markup."""
    if isinstance(element, PlainElement) or not len(element):
        return element.text or ""
    return "".join(str(text) for text in element.itertext())
