"""Moves of prices, and reasons to hold a load: pure figures."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from classifeed.feeds.v1.load_pb2 import HOLD_REASON_PRICES, HOLD_REASON_UNAVAILABLE
from classifeed.offers.v1.offer_pb2 import OfferContent, Price
from classifeed_offers.domain.completion import Guard, list_change_reasons
from classifeed_offers.domain.shifts import Changes, Shift, shift_between
from classifeed_offers.settings import OffersSettings


def content(micros: int | None, currency: str = "RUB", *, available: bool = True) -> OfferContent:
    price = None if micros is None else Price(amount_micros=micros, currency_code=currency)
    return OfferContent(title="t", price=price, available=available)


@pytest.mark.parametrize(
    ("before", "after", "ratio", "is_far"),
    [
        (content(100), content(500), 5, True),
        (content(100), content(499), 4.99, False),
        (content(100), content(20), 0.2, True),
        (content(100), content(21), 0.21, False),
        (content(333), content(1665), 5, True),
        (content(1665), content(333), 0.2, True),
        (content(100), content(100), None, False),
        (content(100), content(None), 0, True),
        (content(100), content(0), 0, True),
        (content(None), content(100), None, False),
        (content(0), content(100), None, False),
        (content(100), content(9000, "USD"), None, False),
        (content(1), content(2**63 - 1), float(2**63 - 1), True),
    ],
)
def test_moves(before: OfferContent, after: OfferContent, ratio: float | None, is_far: bool) -> None:
    shift = shift_between(before.SerializeToString(), after)
    assert shift.price_ratio == pytest.approx(ratio)
    assert (shift.moves_price(5), shift.moves_price(0), shift.becomes_unavailable) == (is_far, False, False)
    assert Guard().sets_aside(shift, has_available=True) == is_far


def test_what_becomes_unavailable_waits_while_nothing_is_available() -> None:
    shift = shift_between(content(1).SerializeToString(), content(1, available=False))
    assert shift == Shift(None, becomes_unavailable=True)
    assert [Guard().sets_aside(shift, has_available=has) for has in (False, True)] == [True, False]
    assert not Guard(holds_unavailable=False).sets_aside(shift, has_available=False)
    back = shift_between(content(1, available=False).SerializeToString(), content(1))
    assert not back.becomes_unavailable


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        (Changes(11, moved=11, prices=20), [HOLD_REASON_PRICES]),
        (Changes(10, moved=10, prices=20), []),
        (Changes(19, moved=19, prices=19), []),
        (Changes(30, turned_unavailable=20), [HOLD_REASON_UNAVAILABLE]),
        (Changes(19, turned_unavailable=19), []),
        (Changes(30, 30, 30, 30), [HOLD_REASON_PRICES, HOLD_REASON_UNAVAILABLE]),
    ],
)
def test_reasons(changes: Changes, reasons: list[int]) -> None:
    assert list(list_change_reasons(changes, Guard())) == reasons


@pytest.mark.parametrize("factor", [1, 0.5, -1])
def test_a_factor_that_moves_nothing_is_refused(factor: float) -> None:
    with pytest.raises(ValidationError, match="guard_price_factor"):
        OffersSettings.model_validate({"guard_price_factor": factor})
