"""Pictures of an offer: what a load makes of them, and what results make of them. Nothing here reads or writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.offers.v1.offer_pb2 import (
    OFFER_PICTURE_STATE_AWAITED,
    OFFER_PICTURE_STATE_FAILED,
    OFFER_PICTURE_STATE_STORED,
    OfferPicture,
)
from classifeed.offers.v1.picture_records_pb2 import PictureRecords
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo, PictureSize
from classifeed.pictures.v1.requests_pb2 import PictureRequest, PictureRequests, PictureResult
from classifeed_common.splitting import split_by_size
from classifeed_offers.domain.offers import Namespace, Place
from classifeed_offers.domain.picture_issues import DELETED, code_of

MAX_PICTURES: Final = 1024  # as many values as a field of a document takes
_FAILURE_CHARS: Final = 500
_CLIENT: Final = "offers"  # whose export of used links says when a picture may go


class PicturePlan(NamedTuple):
    """What becomes of the pictures of an offer that a load writes.

    Attributes:
        pictures: PictureRecords of all; None where it has none.
        faults: PictureRecords of those that failed; None where none did.
        requested: links to request.
        is_awaited: whether a result is awaited.
        is_changed: whether the links are others than before.
    """

    pictures: bytes | None = None
    faults: bytes | None = None
    requested: Sequence[str] = ()
    is_awaited: bool = False
    is_changed: bool = False


class PictureChange(NamedTuple):
    """What results make of the pictures of an offer.

    Attributes:
        pictures: as in PicturePlan.
        faults: as in PicturePlan.
        is_awaited: as in PicturePlan.
        is_shown: whether the offer's document changes.
        failed: those that were not known to fail so.
    """

    pictures: bytes
    faults: bytes | None
    is_awaited: bool
    is_shown: bool
    failed: list[OfferPicture]


def read_pictures(records: bytes | None) -> Sequence[OfferPicture]:
    """Return pictures as they are stored."""
    return () if records is None else PictureRecords.FromString(records).pictures


def plan_pictures(urls: Sequence[str], before: bytes | None, *, place: Place, now: Timestamp) -> PicturePlan:
    """Return what becomes of the pictures of an offer: a link that it had keeps its state, each new one is requested.

    Args:
        urls: links of the offer as it is written; those beyond the 1,024th are left alone.
        before: PictureRecords of the offer as it stood; None: nothing is known, and all are requested.
        place: where the load has the offer.
        now: when they are requested.
    """
    if not urls:
        return PicturePlan(is_changed=before is not None)
    wanted = list(dict.fromkeys(urls[:MAX_PICTURES]))
    awaited = {"state": OFFER_PICTURE_STATE_AWAITED, "request_time": now, **place._asdict()}
    if before is None:  # a new offer: many come at once
        records = PictureRecords()
        for url in wanted:
            records.pictures.add(url=url, **awaited)
        return PicturePlan(records.SerializeToString(), None, wanted, is_awaited=True, is_changed=True)
    known = {picture.url: picture for picture in read_pictures(before)}
    requested = [url for url in wanted if url not in known]
    pictures = [known.get(url) or OfferPicture(url=url, **awaited) for url in wanted]
    return PicturePlan(
        _write(pictures),
        _faults_of(pictures),
        requested,
        is_awaited=_is_awaited(pictures),
        is_changed=list(known) != wanted,
    )


def plan_awaited(before: bytes | None, *, exists: bool) -> PicturePlan:
    """Return the pictures of an offer as they are; one that is removed awaits nothing."""
    pictures = read_pictures(before)
    return PicturePlan(before, _faults_of(pictures), is_awaited=exists and _is_awaited(pictures))


def apply_results(before: bytes, results: Mapping[str, PictureResult]) -> PictureChange | None:
    """Return what results, by their links, make of the pictures of an offer; None: nothing.

    The highest attempt holds. A result without a number is about a request that was refused as it came.
    """
    pictures = list(read_pictures(before))
    is_changed, is_shown = False, False
    failed: list[OfferPicture] = []
    for at, known in enumerate(pictures):
        result = results.get(known.url)
        if result is None or (known.state != OFFER_PICTURE_STATE_AWAITED and result.attempt <= known.attempt):
            continue
        new = _with_result(known, result)
        is_changed = True
        is_shown |= new.state != known.state or new.info != known.info
        if new.state == OFFER_PICTURE_STATE_FAILED and not _fails_alike(known, new):
            failed.append(new)
        pictures[at] = new
    if not is_changed:
        return None
    return PictureChange(_write(pictures), _faults_of(pictures), _is_awaited(pictures), is_shown, failed)


def newest_results(results: Iterable[PictureResult]) -> dict[str, PictureResult]:
    """Return the result with the highest attempt for each link; of equal ones the last."""
    newest: dict[str, PictureResult] = {}
    for result in results:
        known = newest.get(result.url)
        if known is None or known.attempt <= result.attempt:
            newest[result.url] = result
    return newest


def awaited_urls(records: bytes | None) -> list[str]:
    """Return the links of which the result is awaited."""
    return [it.url for it in read_pictures(records) if it.state == OFFER_PICTURE_STATE_AWAITED]


def lasting_urls(records: bytes | None) -> list[str]:
    """Return the links that may be requested again at any time: all but those whose picture somebody has deleted."""
    return [it.url for it in read_pictures(records) if it.failure.code != DELETED]


def request_messages(
    name: Namespace, urls_of: Mapping[str, Sequence[str]], *, picture_namespace: str, now: Timestamp
) -> list[PictureRequests]:
    """Return requests for links of a namespace's offers, by external id, as messages, each small enough for Kafka."""
    requests = [
        PictureRequest(
            url=url, namespace=picture_namespace, reference=f"{name.namespace}/{external_id}", request_time=now
        )
        for external_id, urls in urls_of.items()
        for url in urls
    ]
    return [
        PictureRequests(recipient=name.seller_id, client=_CLIENT, requests=part) for part in split_by_size(requests)
    ]


def parse_reference(seller_id: str, reference: str) -> tuple[Namespace, str] | None:
    """Return the namespace and the external id that a reference names; None: it is none of ours."""
    namespace, slash, external_id = reference.partition("/")
    if not (namespace and slash and external_id) or "\0" in reference:
        return None
    return Namespace(seller_id, namespace), external_id


def _fails_alike(known: OfferPicture, new: OfferPicture) -> bool:
    return known.state == OFFER_PICTURE_STATE_FAILED and code_of(known.failure) == code_of(new.failure)


def _with_result(known: OfferPicture, result: PictureResult) -> OfferPicture:
    new = OfferPicture(
        url=known.url,
        attempt=result.attempt,
        request_time=known.request_time,
        task_id=known.task_id,
        ordinal=known.ordinal,
        line=known.line,
    )
    if result.WhichOneof("result") == "info":
        new.state = OFFER_PICTURE_STATE_STORED
        new.info.CopyFrom(_address_of(result.info))
    else:
        new.state = OFFER_PICTURE_STATE_FAILED
        new.failure.CopyFrom(
            LoadFailure(
                code=result.failure.code,
                message=result.failure.message[:_FAILURE_CHARS],
                http_status=result.failure.http_status,
            )
        )
    return new


def _address_of(info: PictureInfo) -> PictureInfo:
    """Return what is kept of a picture: where it is, and in which sizes."""
    return PictureInfo(
        namespace=info.namespace,
        group_id=info.group_id,
        name=info.name,
        width=info.width,
        height=info.height,
        sizes=[PictureSize(name=it.name, width=it.width, height=it.height) for it in info.sizes],
    )


def _write(pictures: Iterable[OfferPicture]) -> bytes:
    return PictureRecords(pictures=pictures).SerializeToString(deterministic=True)


def _faults_of(pictures: Iterable[OfferPicture]) -> bytes | None:
    failed = [it for it in pictures if it.state == OFFER_PICTURE_STATE_FAILED]
    return _write(failed) if failed else None


def _is_awaited(pictures: Iterable[OfferPicture]) -> bool:
    return any(it.state == OFFER_PICTURE_STATE_AWAITED for it in pictures)
