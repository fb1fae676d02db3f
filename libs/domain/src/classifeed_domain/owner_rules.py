"""Ownership rules for tokens that are limited to some sellers (ADR 0098): find a request's sellers, narrow requests.

The rule of each method is in `policy`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from classifeed_common.errors import PermissionDenied
from classifeed_domain.offer_names import DOCUMENT_CLIENT, SELLER_FIELD

_PREFIX: Final = "sellers/"
_ID_FIELDS: Final = frozenset({"seller_id", "seller_ids"})


def list_sellers(message: Message) -> Iterator[str]:
    """Yield the sellers that a message names: in fields called seller_id, and in each text that begins with sellers/.

    Resource names are found by value, because a field that a later version adds may lack an annotation. Any other text
    that begins with sellers/ is taken for a name as well; at worst, a request is refused.
    """
    for field, value in message.ListFields():
        values = value if field.is_repeated else (value,)
        if field.message_type is not None:
            if field.message_type.GetOptions().map_entry:
                yield from _in_map(value)
            else:
                for each in values:
                    yield from list_sellers(each)
        elif field.type == FieldDescriptor.TYPE_STRING:
            yield from values if field.name in _ID_FIELDS else _in_texts(values)


def _in_map(entries: Mapping[Any, Any]) -> Iterator[str]:
    for key, value in entries.items():
        yield from _in_texts(each for each in (key, value) if isinstance(each, str))
        if isinstance(value, Message):
            yield from list_sellers(value)


def _in_texts(texts: Any) -> Iterator[str]:
    for text in texts:
        if text.startswith(_PREFIX):
            yield text.removeprefix(_PREFIX).partition("/")[0]


def narrow_search(request: Any, sellers: frozenset[str]) -> None:
    """Restrict a search to offers of the sellers. The request's other filters cannot widen this one."""
    _require_offers(request.client)
    only = request.filters.add(field=SELLER_FIELD)
    for seller in sorted(sellers):
        only.terms.values.add(string_value=seller)


def narrow_document(request: Any, sellers: frozenset[str]) -> None:
    """Check that a document key, seller/namespace/external_id, belongs to one of the sellers."""
    _require_offers(request.client)
    if request.pk.partition("/")[0] not in sellers:
        raise PermissionDenied(
            "SELLER_NOT_GRANTED",
            f"The token is for {', '.join(sorted(sellers))} only. Read documents of these sellers.",
        )


def _require_offers(client: str) -> None:
    if client != DOCUMENT_CLIENT:
        raise PermissionDenied(
            "SELLER_NOT_GRANTED",
            f"The token is for some sellers only, and documents of {client!r} belong to no seller. Search `offers`.",
        )
