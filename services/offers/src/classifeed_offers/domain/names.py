"""Resource names of the contract: sellers/{seller}/feeds/{namespace}/offers/{external_id}."""

from __future__ import annotations

import re
from typing import NamedTuple

from classifeed_offers.domain.offers import Namespace

_PARENT = re.compile(r"sellers/([^/]+)/feeds/([^/]+)")
_OFFER = re.compile(r"(sellers/[^/]+/feeds/[^/]+)/offers/(.+)", re.DOTALL)


class OfferName(NamedTuple):
    """The parts of an offer's name; the external id may hold any character, slashes too."""

    namespace: Namespace
    external_id: str


def parse_parent(name: str) -> Namespace:
    """Return the namespace of sellers/{seller}/feeds/{namespace}.

    Raises:
        ValueError: it is no such name.
    """
    found = _PARENT.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is not of the form sellers/{{seller}}/feeds/{{namespace}}")
    return Namespace(found[1], found[2])


def parse_offer_name(name: str) -> OfferName:
    """Return the parts of an offer's name.

    Raises:
        ValueError: it is no such name.
    """
    found = _OFFER.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is not of the form sellers/{{seller}}/feeds/{{namespace}}/offers/{{external_id}}")
    return OfferName(parse_parent(found[1]), found[2])


def format_offer_name(seller_id: str, namespace: str, external_id: str) -> str:
    """Return the name of an offer."""
    return f"sellers/{seller_id}/feeds/{namespace}/offers/{external_id}"
