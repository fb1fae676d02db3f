"""Export the links of all pictures of offers, with a count and a digest that reveal a truncated export."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.offers.v1.offer_service_pb2 import ExportPictureUrlsResponse, PictureUrls, PictureUrlsEnd
from classifeed_common.db import Database
from classifeed_common.pacing.yielding import Yielder
from classifeed_domain.pictures.urls import UrlDigest
from classifeed_offers.domain.pictures import read_pictures
from classifeed_offers.store import reading

_SLICE_OFFERS: Final = 1000
_MESSAGE_URLS: Final = 1000
_MESSAGE_BYTES: Final = 1 << 20


async def export_picture_urls(
    database: Database, *, slice_offers: int = _SLICE_OFFERS
) -> AsyncIterator[ExportPictureUrlsResponse]:
    """Yield the time, then links, then their count and digest.

    The export reads offers slice by slice in the order of their ids, which never change. One transaction over all
    offers would hold back the vacuum. A link that one offer had throughout the export is included. A link that an
    offer got during the export may be missing, even if another offer had it before. Such a link was requested after
    the yielded time, and the receiver of the export must take that into account.
    """
    async with database.connection() as connection:
        time = Timestamp()
        time.FromDatetime(await reading.current_time(connection))
    yield ExportPictureUrlsResponse(snapshot_time=time)
    digest = UrlDigest()
    yielder = Yielder()
    after = 0
    while True:
        async with database.connection() as connection:
            rows = await reading.next_pictures(connection, after=after, limit=slice_offers)
        if not rows:
            break
        after = rows[-1][0]
        urls: dict[str, None] = {}
        size = 0
        for _, records in rows:
            await yielder.yield_if_due()
            for picture in read_pictures(records):
                if picture.url in urls:
                    continue
                urls[picture.url] = None
                size += len(picture.url.encode())
                if len(urls) == _MESSAGE_URLS or size > _MESSAGE_BYTES:
                    yield _piece(digest, urls)
                    urls, size = {}, 0
        if urls:
            yield _piece(digest, urls)
    yield ExportPictureUrlsResponse(end=PictureUrlsEnd(count=digest.count, digest=digest.digest))


def _piece(digest: UrlDigest, urls: dict[str, None]) -> ExportPictureUrlsResponse:
    digest.add(urls)
    return ExportPictureUrlsResponse(urls=PictureUrls(urls=urls))
