"""Decodes Kafka records into orders to copy, delete or download."""

from __future__ import annotations

from typing import Final, TypeVar

from google.protobuf.message import DecodeError, Message

from classifeed.pictures.v1.orders_pb2 import CopyOrder, DeleteOrder, DownloadOrder
from classifeed_common.kafka import Poison, Record, type_of

_COPIES: Final[tuple[type[CopyOrder | DeleteOrder], ...]] = (CopyOrder, DeleteOrder)
M = TypeVar("M", bound=Message)


def decode_copy(record: Record) -> CopyOrder | DeleteOrder:
    """Return the order to copy or to delete.

    Raises:
        Poison: the record is no such order, or breaks the protocol.
    """
    for kind in _COPIES:
        if type_of(record) == kind.DESCRIPTOR.full_name:
            return _decode(record, kind)
    raise Poison(record, f"is no order to copy or to delete, but {type_of(record) or 'of no type'}")


def decode_download(record: Record) -> DownloadOrder:
    """Return the order to download.

    Raises:
        Poison: the record is no such order, or breaks the protocol.
    """
    if type_of(record) != DownloadOrder.DESCRIPTOR.full_name:
        raise Poison(record, f"is no order to download, but {type_of(record) or 'of no type'}")
    return _decode(record, DownloadOrder)


def _decode(record: Record, kind: type[M]) -> M:
    try:
        order = kind.FromString(record.value)
    except DecodeError as error:
        raise Poison(record, f"cannot be read as {kind.DESCRIPTOR.full_name}: {error}") from error
    if order.url_hash != record.key:  # type: ignore[attr-defined]
        raise Poison(record, "url_hash is not the key of the message")
    return order
