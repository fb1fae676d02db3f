"""Names of an offer's fields in our own format."""

from __future__ import annotations

from typing import Final

from classifeed_feeds.mapping.field_names import FieldNames

NAMES: Final = FieldNames(
    offer="offer",
    attributes=frozenset({"id"}),
    id="id",
    id_words='the attribute id="..."',
    title="title",
    title_words="<title>",
    description="description",
    price="price",
    price_words="digits with at most one decimal point, such as 1499.90",
    currency="price",
    currency_fix='Name the currency in the price, such as <price currency="RUB">1499.90</price>.',
    category="category",
    category_words='<category id="..."> with an id from <categories>, or a path such as Home > Kitchen > Kettles',
    categories="categories",
    picture="picture",
)
