"""Names of offers: parsing and formatting, and unique document keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifeed_domain.offer_names import OfferName

EXTERNAL_IDS = st.text(min_size=1).filter(lambda text: "\0" not in text)
NAMES = st.builds(
    OfferName, st.from_regex(r"\A[A-Za-z0-9._-]+\Z"), st.from_regex(r"\A[a-z0-9._-]{1,64}\Z"), EXTERNAL_IDS
)


@given(NAMES)
def test_name_holds_any_external_id(name: OfferName) -> None:
    assert OfferName.parse(str(name)) == name
    assert str(name).startswith(f"{name.parent}/offers/")


@given(NAMES, NAMES)
def test_no_two_offers_share_a_document(one: OfferName, other: OfferName) -> None:
    assert (one.document_pk == other.document_pk) is (one == other)


@pytest.mark.parametrize("name", ["", "sellers/a/feeds/b", "sellers/a/feeds/b/offers/", "x/a/feeds/b/offers/c"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="sellers/"):
        OfferName.parse(name)


def test_key_of_a_document() -> None:
    assert OfferName("shop", "default", "a/b").document_pk == "shop/default/a/b"
