"""What a format calls the fields of an offer: for the places and the words of issues."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Names of elements and attributes as the format's own documents write them, without angle brackets.

    Attributes:
        offer: The element of one offer.
        attributes: Those of the fields that are attributes of the offer.
        id: Its id.
        id_words: How an id is written.
        title: Its title.
        title_words: What a title is read from.
        description: Its text.
        price: Its price.
        price_words: How a price is written.
        currency: The currency of the price.
        currency_fix: What to do where it is missing, as a sentence.
        category: Its category.
        category_words: How a category is named.
        categories: Where the file lists its categories; the category itself where it does not.
        picture: One picture.
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
        """Return what fills the placeholders of `ISSUES` that stand for the format's own names."""
        tags = ("offer", "title", "description", "price", "currency", "category", "categories", "picture")
        return {f"{name}_tag": f"<{getattr(self, name)}>" for name in tags} | {
            name: getattr(self, name)
            for name in ("id_words", "title_words", "price_words", "currency_fix", "category_words")
        }
