"""Mapping of an <item> or <entry> of product data to an offer with its issues."""

from __future__ import annotations

import re
from typing import Final

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_feeds.formats.google.names import ATOM_NAMES, RSS_NAMES
from classifeed_feeds.formats.google.tags import TABLE
from classifeed_feeds.mapping.amounts import Money, read_money
from classifeed_feeds.mapping.categories import split_path
from classifeed_feeds.mapping.extraction import GatheredOffer
from classifeed_feeds.mapping.table_mapping import TableMapping, currency_code

# The bounds of yml-offer.xsd.
_MOST_CHARS: Final = {"vendor": 512, "vendor_code": 512, "google_category": 2_000, "product_type": 2_000}
_MAX_BARCODE_CHARS: Final = 512
_MAX_ATTRIBUTE_CHARS: Final = 16_384
_WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,12}(\.0{1,6})?")


class RssMapping(TableMapping):
    """Maps the offers of one RSS file."""

    table = TABLE
    names = RSS_NAMES
    availability_words = "in_stock, out_of_stock, preorder or backorder"

    def check(self, gathered: GatheredOffer) -> None:
        """Leave out values that are too long or not numbers, with an issue for each."""
        texts = gathered.texts
        for meaning, limit in _MOST_CHARS.items():
            if len(texts.get(meaning, "")) > limit:
                self._leave_out(meaning, f"at most {limit:,} characters")
        if "stock" in texts and _WHOLE_NUMBER.fullmatch(texts["stock"]) is None:
            self._leave_out("stock", "a whole number")
        if any(len(text) > _MAX_BARCODE_CHARS for text in gathered.barcodes):
            for text in gathered.barcodes:
                self._check_length("g:gtin", text, _MAX_BARCODE_CHARS)
            gathered.barcodes = [text for text in gathered.barcodes if len(text) <= _MAX_BARCODE_CHARS]
        if any(len(value) > _MAX_ATTRIBUTE_CHARS for _, value, _ in gathered.params):
            for name, value, _ in gathered.params:
                self._check_length(name, value, _MAX_ATTRIBUTE_CHARS)
            gathered.params = [param for param in gathered.params if len(param[1]) <= _MAX_ATTRIBUTE_CHARS]
        if "summary" in texts:
            texts.setdefault("description", texts["summary"])
        if texts.get("product_type") and "google_category" in texts and not texts["google_category"].isdigit():
            gathered.params.append(("google_product_category", texts["google_category"], ""))

    def put_price(self, content: OfferContent) -> None:
        """Set the price; if there is a sale price, it becomes the price, and the price becomes the old price."""
        main = "price" if "price" in self.texts or "sale_price" not in self.texts else "sale_price"
        if main not in self.texts:
            if not self.patch:
                self.issues.add("PRICE_MISSING", field=self.names.price)
            return
        price = self._money(main, "PRICE_INVALID")
        if price is None:
            return
        sale = self._money("sale_price", "FIELD_INVALID") if main == "price" and "sale_price" in self.texts else None
        currency = self._currency(price, main, sale)
        if sale is not None and sale.micros and price.micros == 0:
            self.add_issue("PRICE_ZERO", "price", value=self.texts["price"], instead="the sale price was used")
            price = sale
        elif sale is not None and self._is_sale(sale, price, currency):
            self.set_old_price(content, price.micros, currency)
            price = sale
        self.set_price(content, price.micros, currency, self.texts[main])

    def put_category(self, content: OfferContent) -> None:
        """Set the category: the shop's own path if there is one, otherwise Google's; Google's number becomes the id."""
        google = self.texts.get("google_category", "")
        if google.isdigit():
            content.category_id = google
            google = ""
        text = self.texts.get("product_type") or google or self.texts.get("category_text", "")
        content.category_path.extend(split_path(text))

    def _money(self, meaning: str, code: str) -> Money | None:
        text = self.texts[meaning]
        money = read_money(text)
        if money is None:
            self.add_issue(code, meaning, value=text, expected=self.names.price_words)
        return money

    def _is_sale(self, sale: Money, price: Money, currency: str) -> bool:
        """Return whether a sale price is below the price. Shops write the same price or zero if there is no sale."""
        if sale.micros in {0, price.micros}:
            return False
        if sale.micros > price.micros or (sale.currency and currency_code(sale.currency) != currency):
            self._leave_out("sale_price", "an amount below the price, in the same currency")
            return False
        return True

    def _currency(self, price: Money, meaning: str, sale: Money | None) -> str:
        """Return the currency of the price, or that of the sale price if the price has none."""
        named = price.currency or (sale.currency if sale is not None else "")
        if not named:
            # In a patch, an existing offer keeps its currency.
            if self.patch:
                return ""
            self.note_no_currency(meaning, self.texts[meaning])
            return self.assumed_currency
        code = currency_code(named)
        if code is None:
            self.add_issue("CURRENCY_UNKNOWN", meaning, value=named)
        return code or ""

    def _leave_out(self, meaning: str, expected: str) -> None:
        self.note_unread(meaning, self.texts.pop(meaning), expected)

    def _check_length(self, field: str, text: str, limit: int) -> None:
        if len(text) > limit:
            self.issues.add("FIELD_INVALID", field=field, value=text, expected=f"at most {limit:,} characters")


class AtomMapping(RssMapping):
    """Maps the offers of one Atom file."""

    names = ATOM_NAMES
