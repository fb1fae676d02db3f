"""Names of an offer's fields in Google's and Facebook's product data, in RSS and in Atom."""

from __future__ import annotations

from typing import Final

from classifeed_feeds.mapping.field_names import FieldNames


def _names(offer: str) -> FieldNames:
    return FieldNames(
        offer=offer,
        attributes=frozenset(),
        id="g:id",
        id_words="<g:id>",
        title="g:title",
        title_words="<g:title>, or <title>",
        description="g:description",
        price="g:price",
        price_words="an amount and the code of its currency, such as 1499.90 RUB",
        currency="g:price",
        currency_fix="Write the code of the currency after the amount in <g:price>, such as 1499.90 RUB.",
        category="g:product_type",
        category_words="<g:product_type> with a path such as Home > Kitchen > Kettles",
        categories="g:product_type",
        picture="g:image_link",
    )


RSS_NAMES: Final = _names("item")
ATOM_NAMES: Final = _names("entry")
