"""Pictures of an offer: the effects of loads and results on them. Pure functions without I/O."""

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
from classifeed_domain.pictures.issues import DELETED, code_of
from classifeed_offers.domain.offers import Namespace, Place

MAX_PICTURES: Final = 1024  # the maximum number of values in a field of a document
PICTURE_NAMESPACE: Final = "offers"
"""Namespace in the service of pictures that keeps the pictures of offers."""
_FAILURE_CHARS: Final = 500
_CLIENT: Final = "offers"  # the client whose export of used links decides when a picture may be deleted


class PicturePlan(NamedTuple):
    """Pictures of an offer after a load writes it.

    Attributes:
        pictures: PictureRecords of all pictures; None: there are none.
        faults: PictureRecords of failed pictures; None: none failed.
        requested: links to request.
        is_awaited: whether a result is awaited.
        is_changed: whether the links differ from before.
    """

    pictures: bytes | None = None
    faults: bytes | None = None
    requested: Sequence[str] = ()
    is_awaited: bool = False
    is_changed: bool = False


class PictureChange(NamedTuple):
    """Pictures of an offer after results are applied.

    Attributes:
        pictures: as in PicturePlan.
        faults: as in PicturePlan.
        is_awaited: as in PicturePlan.
        is_shown: whether the offer's document changes.
        failed: pictures with a new failure.
    """

    pictures: bytes
    faults: bytes | None
    is_awaited: bool
    is_shown: bool
    failed: list[OfferPicture]


def read_pictures(records: bytes | None) -> Sequence[OfferPicture]:
    """Return stored pictures."""
    return () if records is None else PictureRecords.FromString(records).pictures


def plan_pictures(urls: Sequence[str], before: bytes | None, *, place: Place, now: Timestamp) -> PicturePlan:
    """Return the pictures of an offer after a load: known links keep their state, and new links are requested.

    Args:
        urls: links of the offer as it is written; links beyond the 1,024th are ignored.
        before: PictureRecords of the offer before; None: nothing is known, and all links are requested.
        place: place of the offer in the load.
        now: time of the request.
    """
    if not urls:
        return PicturePlan(is_changed=before is not None)
    wanted = list(dict.fromkeys(urls[:MAX_PICTURES]))
    awaited = {"state": OFFER_PICTURE_STATE_AWAITED, "request_time": now, **place._asdict()}
    if before is None:  # a fast path, because many new offers arrive at once
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
    """Return the current pictures of an offer; a removed offer awaits nothing."""
    pictures = read_pictures(before)
    return PicturePlan(before, _faults_of(pictures), is_awaited=exists and _is_awaited(pictures))


def apply_results(before: bytes, results: Mapping[str, PictureResult]) -> PictureChange | None:
    """Return the pictures of an offer after `results`, given by link; None: nothing changes.

    The highest attempt wins. A result without a number is about a request that was refused on arrival.
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
    """Return the result with the highest attempt for each link; among equal attempts the last one."""
    newest: dict[str, PictureResult] = {}
    for result in results:
        known = newest.get(result.url)
        if known is None or known.attempt <= result.attempt:
            newest[result.url] = result
    return newest


def awaited_urls(records: bytes | None) -> list[str]:
    """Return the links whose result is awaited."""
    return [it.url for it in read_pictures(records) if it.state == OFFER_PICTURE_STATE_AWAITED]


def lasting_urls(records: bytes | None) -> list[str]:
    """Return the links that may be requested again: all except links of pictures that an operator deleted."""
    return [it.url for it in read_pictures(records) if it.failure.code != DELETED]


def request_messages(name: Namespace, urls_of: Mapping[str, Sequence[str]], now: Timestamp) -> list[PictureRequests]:
    """Return messages, each small enough for Kafka, that request the links of a namespace's offers (by external id)."""
    requests = [
        PictureRequest(
            url=url, namespace=PICTURE_NAMESPACE, reference=f"{name.namespace}/{external_id}", request_time=now
        )
        for external_id, urls in urls_of.items()
        for url in urls
    ]
    return [
        PictureRequests(recipient=name.seller_id, client=_CLIENT, requests=part) for part in split_by_size(requests)
    ]


def parse_reference(seller_id: str, reference: str) -> tuple[Namespace, str] | None:
    """Return the namespace and the external id in a reference; None: it is not a reference of ours."""
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
    """Return the part of a picture's information that is kept: its address and sizes."""
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
