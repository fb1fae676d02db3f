"""Common mapping of YML and our own format: amounts and currencies in separate fields, and a list of categories."""

from __future__ import annotations

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_feeds.mapping.amounts import Money, read_money
from classifeed_feeds.mapping.categories import split_path
from classifeed_feeds.mapping.table_mapping import TableMapping, currency_code


class ListedMapping(TableMapping):
    """Maps the offers of one file whose head lists categories."""

    def put_category(self, content: OfferContent) -> None:
        """Set the category, given by an id from the file's own list, or otherwise by a text."""
        category_id, text = self.texts.get("category"), self.texts.get("category_text", "")
        if category_id is None and text and (text.isdigit() or self.categories.find(text) is not None):
            category_id, text = text, ""
        path = self.categories.find(category_id) if category_id is not None else None
        if category_id is not None:
            content.category_id = category_id
        content.category_path.extend(split_path(text) if path is None else path)
        if path is not None or content.category_path or not self.categories:
            return
        if category_id is not None:
            meaning = "category" if "category" in self.texts else "category_text"
            self.add_issue("CATEGORY_UNKNOWN", meaning, value=category_id)
        elif not self.patch:
            self.issues.add("CATEGORY_MISSING", field=self.names.category)

    def put_price(self, content: OfferContent) -> None:
        """Set price and old price, whose currency is in another field or next to the amount."""
        texts = self.texts
        has_price, has_old = "price" in texts, "old_price" in texts
        if not has_price and not self.patch and not any(element.tag == self.names.price for element in self.skip):
            self.issues.add("PRICE_MISSING", field=self.names.price)
        price = self._read_amount("price", "PRICE_INVALID") if has_price else None
        old_price = self._read_amount("old_price", "OLD_PRICE_INVALID") if has_old else None
        beside = price.currency if price is not None else ""
        if not beside and old_price is not None:
            beside = old_price.currency
        currency = self.find_currency(needed=price is not None, beside=beside)
        if price is not None:
            self.set_price(content, price.micros, currency, texts["price"])
        # If a patch has no price, the existing offer may have one to compare with.
        if old_price is not None and (price is None or price.micros):
            self._put_old_price(content, old_price.micros, currency, price)

    def _read_amount(self, meaning: str, code: str) -> Money | None:
        """Return an amount with the ISO code next to it, which must equal the offer's currency if there is one."""
        text = self.texts[meaning]
        money = read_money(text)
        if money is not None and money.currency:
            beside = currency_code(money.currency)
            named = currency_code(self.texts.get("currency", ""))
            money = None if beside is None or named not in {None, beside} else Money(money.micros, beside)
        if money is None:
            self.add_issue(code, meaning, value=text)
        return money

    def _put_old_price(self, content: OfferContent, micros: int, currency: str, price: Money | None) -> None:
        if price is not None and micros <= price.micros:
            texts = self.texts
            self.add_issue("OLD_PRICE_NOT_HIGHER", "old_price", value=texts["old_price"], price=texts["price"])
            # The discount is over: a patch must remove an old price that the offer may have.
            self.cleared.append("old_price")
        else:
            self.set_old_price(content, micros, currency)
