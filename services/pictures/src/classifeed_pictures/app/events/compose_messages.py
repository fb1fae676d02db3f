"""Composes the messages of orders and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from opentelemetry.context import Context

from classifeed.pictures.v1.events_pb2 import AdoptPictures, LookAgain
from classifeed.pictures.v1.orders_pb2 import CopyOrder, DeleteOrder, DownloadOrder
from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed.pictures.v1.requests_pb2 import (
    PictureNotice,
    PictureNotices,
    PictureRequest,
    PictureRequests,
    PictureResult,
    PictureResults,
)
from classifeed_common.kafka import Message, message_of
from classifeed_common.splitting import split_by_size
from classifeed_domain.topics import PICTURES_COPIES, PICTURES_DOWNLOADS, PICTURES_REQUESTS, PICTURES_RESULTS
from classifeed_pictures.domain.lifecycle.effects import RequestResult
from classifeed_pictures.domain.lifecycle.events import NOBODY, Adopt, Request
from classifeed_pictures.domain.lifecycle.orders import Copy, Delete, Download, Order


def order_message(
    url: str, url_hash: bytes, order: Order, *, recipient: str, at: datetime, trace: Context | None
) -> Message:
    """Return an order as a message, keyed by the hash of its URL; `recipient` is one of those that wait for it."""
    match order:
        case Download():
            download = DownloadOrder(
                url=url, url_hash=url_hash, namespace=order.namespace, attempt=order.attempt, recipient=recipient
            )
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
                moved_to=order.moved_to,
            )
            return message_of(PICTURES_COPIES, url_hash, delete, trace=trace)


def result_messages(results: Iterable[RequestResult]) -> list[Message]:
    """Return results as messages, up to 100 results of one recipient in each, in order; none without a recipient."""
    by_recipient: dict[str, list[PictureResult]] = {}
    for found in results:
        if found.request.recipient == NOBODY:
            continue
        by_recipient.setdefault(found.request.recipient, []).append(_result(found))
    return [
        message_of(PICTURES_RESULTS, recipient.encode(), PictureResults(recipient=recipient, results=part))
        for recipient, listed in by_recipient.items()
        for part in split_by_size(listed)
    ]


def request_messages(requests: Iterable[Request]) -> list[Message]:
    """Return requests as messages, up to 100 requests of one recipient and client in each, in order."""
    by_recipient: dict[tuple[str, str], list[PictureRequest]] = {}
    for made in requests:
        request = PictureRequest(url=made.requested_url, namespace=made.namespace, reference=made.reference)
        request.request_time.FromDatetime(made.at)
        by_recipient.setdefault((made.recipient, made.client), []).append(request)
    return [
        message_of(
            PICTURES_REQUESTS, recipient.encode(), PictureRequests(recipient=recipient, requests=part, client=client)
        )
        for (recipient, client), listed in by_recipient.items()
        for part in split_by_size(listed)
    ]


def adoption_notices(adoptions: Mapping[str, Adopt]) -> list[PictureNotice]:
    """Return the notices that have keys adopt pictures."""
    return [
        PictureNotice(
            url=url,
            exact=True,
            notice_time=adopt.at,
            adopt_pictures=AdoptPictures(pictures=adopt.pictures, put=adopt.is_put),
        )
        for url, adopt in adoptions.items()
    ]


def notice_messages(notices: Sequence[PictureNotice]) -> list[Message]:
    """Return notices as messages of up to 100. Their order does not matter, as each URL has one notice."""
    return [
        message_of(PICTURES_REQUESTS, part[0].url.encode("utf-8", "replace"), PictureNotices(notices=part))
        for part in split_by_size(notices)
    ]


def look_messages(looks: Mapping[str, LookAgain], now: datetime) -> list[Message]:
    """Return notices that have states checked again, by the URL of each state, as messages."""
    return notice_messages(
        [PictureNotice(url=url, exact=True, notice_time=now, look_again=look) for url, look in looks.items()]
    )


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
