"""Decodes records of pictures.requests.v1 and pictures.loads.v1 for the resharder."""

from __future__ import annotations

from typing import Final, TypeAlias

from google.protobuf.message import DecodeError
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.pictures.v1.orders_pb2 import LoadResult
from classifeed.pictures.v1.requests_pb2 import PictureNotices, PictureRequests
from classifeed_common.kafka import Poison, Record, type_of
from classifeed_pictures.domain.item_faults import RECIPIENT_LIMIT_CHARS, is_recipient
from classifeed_pictures.domain.urls.canonical import HASH_BYTES, URL_LIMIT_CHARS, url_hash

Input: TypeAlias = PictureRequests | PictureNotices | LoadResult

_TYPES: Final = {cls.DESCRIPTOR.full_name: cls for cls in (PictureRequests, PictureNotices, LoadResult)}
_ITEMS_LIMIT: Final = 100


def decode_input(record: Record) -> Input:
    """Return the message of a record, with checks of the whole record.

    A wrong request or notice does not fail the record: the others in it count.

    Raises:
        Poison: it has an unknown type, or breaks the protocol; the text tells where.
    """
    cls = _TYPES.get(type_of(record))
    if cls is None:
        raise Poison(record, f"is no request, notice or result of a load, but {type_of(record) or 'of no type'}")
    try:
        message: Input = cls.FromString(record.value)
    except DecodeError as error:
        raise Poison(record, f"cannot be read as {type_of(record)}: {error}") from error
    if (fault := _fault_of(message, record.key)) is not None:
        raise Poison(record, fault)
    return message


def _fault_of(message: Input, key: bytes | None) -> str | None:
    if isinstance(message, PictureRequests):
        return _fault_of_requests(message, key)
    if isinstance(message, PictureNotices):
        return f"notices has more than {_ITEMS_LIMIT} items" if len(message.notices) > _ITEMS_LIMIT else None
    return _fault_of_load(message, key)


def _fault_of_requests(message: PictureRequests, key: bytes | None) -> str | None:
    if not is_recipient(message.recipient):
        return f"recipient must have 1 to {RECIPIENT_LIMIT_CHARS} characters, none of them NUL"
    if key != message.recipient.encode():
        return "recipient is not the key of the message"
    if len(message.client) > RECIPIENT_LIMIT_CHARS or "\0" in message.client:
        return f"client must have up to {RECIPIENT_LIMIT_CHARS} characters, none of them NUL"
    return f"requests has more than {_ITEMS_LIMIT} items" if len(message.requests) > _ITEMS_LIMIT else None


def _fault_of_load(message: LoadResult, key: bytes | None) -> str | None:
    if not 0 < len(message.url) <= URL_LIMIT_CHARS or "\0" in message.url:
        return f"url must have 1 to {URL_LIMIT_CHARS} characters, none of them NUL"
    if len(message.url_hash) != HASH_BYTES or message.url_hash != url_hash(message.url):
        return f"url_hash must be the {HASH_BYTES} bytes of BLAKE2b over url, as in the order"
    if key != message.url_hash:
        return "url_hash is not the key of the message"
    if message.WhichOneof("outcome") is None:
        return "none of info, failure and unchanged is set"
    if message.HasField("load_time") and not is_time(message.load_time):
        return "load_time is outside of the years 1 to 9999"
    return None


def is_time(timestamp: Timestamp) -> bool:
    """Return whether a timestamp is within the years 1 to 9999."""
    return -62_135_596_800 <= timestamp.seconds <= 253_402_300_799 and 0 <= timestamp.nanos < 1_000_000_000
