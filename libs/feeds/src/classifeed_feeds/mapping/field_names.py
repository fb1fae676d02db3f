"""A format's names for the fields of an offer, for the positions and texts of issues."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Names of elements and attributes as in the format's documentation, without angle brackets.

    Attributes:
        offer: Element of an offer.
        attributes: Fields that are attributes of the offer's element.
        id: Field of the id.
        id_words: Notation of an id.
        title: Field of the title.
        title_words: Elements that a title is read from.
        description: Field of the description.
        price: Field of the price.
        price_words: Notation of a price.
        currency: Field of the price's currency.
        currency_fix: Fix for a missing currency, as a sentence.
        category: Field of the category.
        category_words: Notation of a category.
        categories: Element with the list of categories; the field of the category if the format has no list.
        picture: Field of a picture.
    """

    offer: str
    attributes: frozenset[str]
    id: str
    id_words: str
    title: str
    title_words: str
    description: str
    price: str
    price_words: str
    currency: str
    currency_fix: str
    category: str
    category_words: str
    categories: str
    picture: str

    def words(self) -> dict[str, str]:
        """Return the values of the placeholders in `ISSUES` for the format's names."""
        tags = ("offer", "title", "description", "price", "currency", "category", "categories", "picture")
        return {f"{name}_tag": f"<{getattr(self, name)}>" for name in tags} | {
            name: getattr(self, name)
            for name in ("id_words", "title_words", "price_words", "currency_fix", "category_words")
        }
