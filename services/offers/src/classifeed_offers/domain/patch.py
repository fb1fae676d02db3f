"""PATCH: the fields that a stock-only file names, put onto an offer that exists."""

from __future__ import annotations

from collections.abc import Iterable

from classifeed.offers.v1.offer_pb2 import OfferContent

FIELDS = {field.name: field for field in OfferContent.DESCRIPTOR.fields}


def merge_content(stored: bytes, patch: OfferContent, named_fields: Iterable[str]) -> OfferContent:
    """Return what the offer says once the named fields are taken from `patch`; a named field it lacks becomes unset.

    A price without a currency is in the currency that the offer has: stock-only files name none.

    Raises:
        KeyError: OfferContent has no such field.
    """
    before = OfferContent.FromString(stored)
    merged = OfferContent.FromString(stored)
    for name in named_fields:
        field = FIELDS[name]
        merged.ClearField(name)
        if field.is_repeated:
            getattr(merged, name).extend(getattr(patch, name))
        elif field.message_type is not None:
            if patch.HasField(name):
                getattr(merged, name).CopyFrom(getattr(patch, name))
        elif not field.has_presence or patch.HasField(name):
            setattr(merged, name, getattr(patch, name))
    currency = before.price.currency_code or before.old_price.currency_code
    for name in ("price", "old_price"):
        if merged.HasField(name) and not getattr(merged, name).currency_code:
            getattr(merged, name).currency_code = currency
    return merged
