"""Names of an offer's fields in YML."""

from __future__ import annotations

from typing import Final

from classifeed_feeds.mapping.field_names import FieldNames

NAMES: Final = FieldNames(
    offer="offer",
    attributes=frozenset({"id", "available"}),
    id="id",
    id_words='the attribute id="..."',
    title="name",
    title_words="<name>, or <model>",
    description="description",
    price="price",
    price_words="digits with at most one decimal separator, such as 1499.90",
    currency="currencyId",
    currency_fix='Add <currencyId> to the offer, or name the shop\'s main currency in <currencies> with rate="1".',
    category="categoryId",
    category_words="<categoryId> with an id from <categories>",
    categories="categories",
    picture="picture",
)
