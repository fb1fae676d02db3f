"""`classifeed offer set`: options become a content and a mask."""

from __future__ import annotations

from typing import Any

import pytest

from classifeed.offers.v1 import offer_pb2

SET = ("offer", "set", "shop", "default", "7")


def test_what_is_given_is_named_in_the_mask(api: Any, terminal: Any) -> None:
    api.respond("UpdateOffer", offer_pb2.Offer(external_id="7", content=offer_pb2.OfferContent(title="Bench")))
    options = ("--title", "Bench", "--price", "1490,50", "--currency", "EUR", "--unavailable", "--stock", "0")
    assert terminal(*SET, *options, "--version", "12").exit_code == 0
    [request] = api.requests["UpdateOffer"]
    assert (request.name, request.version) == ("sellers/shop/feeds/default/offers/7", 12)
    assert list(request.update_mask.paths) == ["title", "price", "available", "stock_quantity"]
    price = offer_pb2.Price(amount_micros=1_490_500_000, currency_code="EUR")
    assert request.content == offer_pb2.OfferContent(title="Bench", price=price, available=False, stock_quantity=0)


def test_an_empty_value_clears_its_field(api: Any, terminal: Any) -> None:
    api.respond("UpdateOffer", offer_pb2.Offer(external_id="7"))
    assert terminal(*SET, "--price", "", "--url", "").exit_code == 0
    [request] = api.requests["UpdateOffer"]
    assert list(request.update_mask.paths) == ["url", "price"]
    assert not request.content.HasField("price")


@pytest.mark.parametrize("price", ["cheap", "-1", "1.0000001", "nan", "inf", "1e30"])
def test_what_is_no_amount_is_refused(api: Any, terminal: Any, price: str) -> None:
    ended = terminal(*SET, "--price", price, "--json")
    assert (ended.exit_code, ended.document["error"]["reason"]) == (2, "USAGE")
    assert price in ended.document["error"]["message"]
    assert "UpdateOffer" not in api.requests


def test_a_command_without_a_field_is_refused(api: Any, terminal: Any) -> None:
    assert terminal(*SET).exit_code == 2
    assert "UpdateOffer" not in api.requests
