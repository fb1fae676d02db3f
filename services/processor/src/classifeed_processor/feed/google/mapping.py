"""From one <item> or <entry> of product data to the offer that is sent, with everything that is wrong with it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_processor.feed.categories import split_path
from classifeed_processor.feed.gathering import GatheredOffer
from classifeed_processor.feed.google.names import ATOM_NAMES, RSS_NAMES
from classifeed_processor.feed.google.tags import TABLE
from classifeed_processor.feed.google.values import Money, currency_of, read_availability, read_money
from classifeed_processor.feed.table_mapping import TableMapping

# The bounds of yml-offer.xsd.
_MOST_CHARS: Final = {"vendor": 512, "vendor_code": 512, "google_category": 2_000, "product_type": 2_000}
_MAX_BARCODE_CHARS: Final = 512
_MAX_ATTRIBUTE_CHARS: Final = 16_384
_MAX_LINK_CHARS: Final = 4_096
_WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,12}(\.0{1,6})?")

_currency_of = lru_cache(maxsize=1024)(currency_of)


class RssMapping(TableMapping):
    """Maps the offers of one RSS file."""

    table = TABLE
    names = RSS_NAMES

    def check(self, gathered: GatheredOffer) -> None:
        """Takes out what is too long or no number, and reads the words for availability."""
        texts = gathered.texts
        for meaning, limit in _MOST_CHARS.items():
            if len(texts.get(meaning, "")) > limit:
                self._leave_out(meaning, f"at most {limit:,} characters")
        if "stock" in texts and _WHOLE_NUMBER.fullmatch(texts["stock"]) is None:
            self._leave_out("stock", "a whole number")
        if len(texts.get("url", "")) > _MAX_LINK_CHARS:
            self.add_issue("URL_INVALID", "url", value=texts.pop("url"))
        if any(len(text) > _MAX_BARCODE_CHARS for text in gathered.barcodes):
            gathered.barcodes = [text for text in gathered.barcodes if len(text) <= _MAX_BARCODE_CHARS]
            self._say_too_long("g:gtin", _MAX_BARCODE_CHARS)
        if any(len(value) > _MAX_ATTRIBUTE_CHARS for _, value, _ in gathered.params):
            long = [name for name, value, _ in gathered.params if len(value) > _MAX_ATTRIBUTE_CHARS]
            gathered.params = [param for param in gathered.params if len(param[1]) <= _MAX_ATTRIBUTE_CHARS]
            for name in long:
                self._say_too_long(name, _MAX_ATTRIBUTE_CHARS)
        if "summary" in texts:
            texts.setdefault("description", texts["summary"])
        if "availability" in texts:
            self._read_availability(gathered)
        if texts.get("product_type") and "google_category" in texts and not texts["google_category"].isdigit():
            gathered.params.append(("google_product_category", texts["google_category"], ""))

    def put_price(self, content: OfferContent) -> None:
        """Puts the sale price in where there is one, with the price as the old one, and the price otherwise."""
        main = "price" if "price" in self.texts or "sale_price" not in self.texts else "sale_price"
        if main not in self.texts:
            if not self.patch:
                self.issues.add("PRICE_MISSING", field=self.names.price)
            return
        price = self._money(main, "PRICE_INVALID")
        if price is None:
            return
        currency = self._currency(price, main)
        sale = self._sale(price, currency) if main == "price" else None
        if sale is not None:
            self.set_old_price(content, price.micros, currency)
        self.set_price(content, (sale or price).micros, currency, self.texts[main])

    def put_category(self, content: OfferContent) -> None:
        """Puts the shop's own path in, or else Google's; Google's number is the category's id."""
        google = self.texts.get("google_category", "")
        if google.isdigit():
            content.category_id = google
            google = ""
        content.category_path.extend(split_path(self.texts.get("product_type") or google))

    def _money(self, meaning: str, code: str) -> Money | None:
        text = self.texts[meaning]
        money = read_money(text)
        if money is None:
            self.add_issue(code, meaning, value=text, expected=self.names.price_words)
        return money

    def _sale(self, price: Money, currency: str) -> Money | None:
        """Returns the sale price, if it is below the price; shops fill it in with the same or with zero for no sale."""
        sale = self._money("sale_price", "FIELD_INVALID") if "sale_price" in self.texts else None
        if sale is None or sale.micros in {0, price.micros}:
            return None
        if sale.micros > price.micros or (sale.currency and _currency_of(sale.currency) != currency):
            self._leave_out("sale_price", "an amount below the price, in the same currency")
            return None
        return sale

    def _currency(self, money: Money, meaning: str) -> str:
        if not money.currency:
            # In a patch an offer that exists keeps its currency.
            if not self.patch:
                self.add_issue("CURRENCY_MISSING", meaning, value=self.texts[meaning])
            return ""
        code = _currency_of(money.currency)
        if code is None:
            self.add_issue("CURRENCY_UNKNOWN", meaning, value=money.currency)
        return code or ""

    def _read_availability(self, gathered: GatheredOffer) -> None:
        text = gathered.texts["availability"]
        availability = read_availability(text)
        if availability is None:
            self._leave_out("availability", "in_stock, out_of_stock, preorder or backorder")
            return
        gathered.texts["available"] = "true" if availability.now else "false"
        if availability.later:
            gathered.params.append(("availability", text, ""))

    def _leave_out(self, meaning: str, expected: str) -> None:
        self.add_issue("FIELD_INVALID", meaning, value=self.texts.pop(meaning), expected=expected)

    def _say_too_long(self, field: str, limit: int) -> None:
        self.issues.add("FIELD_INVALID", field=field, expected=f"at most {limit:,} characters")


class AtomMapping(RssMapping):
    """Maps the offers of one Atom file."""

    names = ATOM_NAMES
