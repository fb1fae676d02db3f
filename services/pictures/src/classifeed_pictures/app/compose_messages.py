"""Compose the messages of orders and results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from opentelemetry.context import Context

from classifeed.pictures.v1.orders_pb2 import CopyOrder, DeleteOrder, DownloadOrder
from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed.pictures.v1.requests_pb2 import PictureResult, PictureResults
from classifeed_common.kafka import Message, message_of
from classifeed_domain.topics import PICTURES_COPIES, PICTURES_DOWNLOADS, PICTURES_RESULTS
from classifeed_pictures.domain.events import NOBODY, Copy, Delete, Download, Order, RequestResult

_RESULTS_A_MESSAGE: Final = 100
_BYTES_A_MESSAGE: Final = 500_000


def order_message(url: str, url_hash: bytes, order: Order, *, at: datetime, trace: Context | None) -> Message:
    """Return an order as a message, keyed by the hash of its URL."""
    match order:
        case Download():
            download = DownloadOrder(url=url, url_hash=url_hash, namespace=order.namespace, attempt=order.attempt)
            download.order_time.FromDatetime(at)
            if order.held is not None:
                download.held.CopyFrom(order.held)
            return message_of(PICTURES_DOWNLOADS, url_hash, download, trace=trace)
        case Copy():
            copy = CopyOrder(
                url=url, url_hash=url_hash, source=order.source, namespace=order.namespace, attempt=order.attempt
            )
            return message_of(PICTURES_COPIES, url_hash, copy, trace=trace)
        case Delete():
            delete = DeleteOrder(
                url_hash=url_hash,
                namespace=order.info.namespace,
                group_id=order.info.group_id,
                name=order.info.name,
                attempt=order.attempt,
            )
            return message_of(PICTURES_COPIES, url_hash, delete, trace=trace)


def result_messages(results: Iterable[RequestResult]) -> list[Message]:
    """Return results as messages, up to 100 of a recipient in each, in their order; none for no recipient."""
    by_recipient: dict[str, list[PictureResult]] = {}
    for found in results:
        if found.request.recipient == NOBODY:
            continue
        by_recipient.setdefault(found.request.recipient, []).append(_result(found))
    return [
        message_of(PICTURES_RESULTS, recipient.encode(), PictureResults(recipient=recipient, results=part))
        for recipient, listed in by_recipient.items()
        for part in _parts(listed)
    ]


def _result(found: RequestResult) -> PictureResult:
    request = found.request
    result = PictureResult(
        url=request.requested_url, namespace=request.namespace, reference=request.reference, attempt=found.attempt
    )
    if isinstance(found.result, PictureInfo):
        result.info.CopyFrom(found.result)
    else:
        result.failure.CopyFrom(found.result)
    return result


def _parts(results: Sequence[PictureResult]) -> Iterable[list[PictureResult]]:
    part: list[PictureResult] = []
    size_bytes = 0
    for result in results:
        result_bytes = result.ByteSize()
        if part and (len(part) == _RESULTS_A_MESSAGE or size_bytes + result_bytes > _BYTES_A_MESSAGE):
            yield part
            part, size_bytes = [], 0
        part.append(result)
        size_bytes += result_bytes
    if part:
        yield part
