"""Effect of a PATCH on an offer."""

from __future__ import annotations

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_offers.domain.patch import merge_content


def stored() -> bytes:
    content = OfferContent(title="Диван", available=True, picture_urls=["https://shop.example/1.jpg"])
    content.price.amount_micros, content.price.currency_code = 5_000_000, "RUB"
    return content.SerializeToString()


def test_named_fields_change_and_others_stay() -> None:
    patch = OfferContent(title="Кресло", available=False)
    merged = merge_content(stored(), patch, ["available"])
    assert (merged.title, merged.available, list(merged.picture_urls)) == (
        "Диван",
        False,
        ["https://shop.example/1.jpg"],
    )


def test_named_field_that_the_patch_lacks_is_unset() -> None:
    assert not merge_content(stored(), OfferContent(), ["price"]).HasField("price")


def test_price_without_a_currency_keeps_the_offers_own() -> None:
    patch = OfferContent()
    patch.price.amount_micros = 7_000_000
    patch.old_price.amount_micros = 9_000_000
    merged = merge_content(stored(), patch, ["price", "old_price"])
    assert (merged.price.amount_micros, merged.price.currency_code) == (7_000_000, "RUB")
    assert merged.old_price.currency_code == "RUB"
    patch.price.currency_code = "USD"
    assert merge_content(stored(), patch, ["price"]).price.currency_code == "USD"
