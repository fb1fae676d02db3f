"""Change single fields of an existing offer: by a file that names them (PATCH), or by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.errors import Aborted, FailedPrecondition, FieldViolation, InvalidArgument, NotFound
from classifeed_domain.offer_names import OfferName
from classifeed_offers.domain.offers import OfferState, Origin

_FIX: Final = "change its feed and load it, or remove the feed with the disposition MAKE_MANUAL first"
FIELDS: Final = {field.name: field for field in OfferContent.DESCRIPTOR.fields}


def merge_content(stored: bytes, patch: OfferContent, named_fields: Iterable[str]) -> OfferContent:
    """Return the offer with the named fields taken from `patch`; a named field that `patch` lacks becomes unset.

    A price without a currency keeps the currency of the offer, because stock-only files name none.

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


def offer_not_found(name: OfferName) -> NotFound:
    """Return the error for an offer that a namespace does not have."""
    return NotFound("OFFER_NOT_FOUND", f"There is no {name}: no load of this namespace has brought this id.")


def check_manual(name: OfferName, state: OfferState) -> None:
    """Check that the offer is kept by hand.

    Raises:
        FailedPrecondition: the offer belongs to the feed of its namespace.
    """
    if state.origin is not Origin.MANUAL:
        raise FailedPrecondition(
            "OFFER_KEPT_BY_FEED",
            f"{name} belongs to the feed of its namespace, and a load would undo the change: {_FIX}.",
            metadata={"offer": str(name)},
        )


def check_version(name: OfferName, stored: int, given: int) -> None:
    """Check that a change was made from the stored version, or from any (0).

    Raises:
        Aborted: the offer has changed since.
    """
    if given not in {0, stored}:
        raise Aborted(
            "OFFER_VERSION_STALE",
            f"{name} is at version {stored}, and the change was made from version {given}. Read it again, and send the "
            "change with its version.",
            metadata={"offer": str(name), "version": str(stored)},
        )


def check_mask(paths: Sequence[str]) -> None:
    """Check that a mask names fields of OfferContent.

    Raises:
        InvalidArgument: the mask is empty or names an unknown field.
    """
    unknown = [path for path in paths if path not in FIELDS]
    if unknown or not paths:
        named = f"{unknown[0]!r} is no field of OfferContent" if unknown else "the mask is empty"
        raise _invalid("update_mask", f"{named}; name one or more of {', '.join(FIELDS)}")


def merge(state: OfferState, content: OfferContent, paths: Sequence[str]) -> OfferContent:
    """Return the offer with the named fields taken from `content`.

    Raises:
        InvalidArgument: the result would have no title, or an amount without a currency.
    """
    merged = merge_content(state.content or b"", content, paths)
    if not merged.title.strip():
        raise _invalid("content.title", "an offer needs a title: give one, or leave `title` out of the mask")
    for field in ("price", "old_price"):
        if merged.HasField(field) and not getattr(merged, field).currency_code:
            raise _invalid(f"content.{field}.currency_code", "the offer has no currency yet: give one, such as RUB")
    return merged


def _invalid(field: str, description: str) -> InvalidArgument:
    return InvalidArgument(
        "OFFER_CHANGE_INVALID", f"{field}: {description}.", violations=[FieldViolation(field, description)]
    )
