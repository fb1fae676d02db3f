"""Client of offers: exports the URLs that offers use, and has pictures requested again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import grpc.aio

from classifeed.offers.v1.offer_service_pb2 import (
    ExportPictureUrlsRequest,
    ExportPictureUrlsResponse,
    RequestPicturesRequest,
)
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceStub
from classifeed_common.errors import Unavailable
from classifeed_domain.pictures.urls import UrlDigest

_LIMIT_S: Final = 3600.0
_CALL_LIMIT_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class UrlExport:
    """URLs that offers use.

    Attributes:
        snapshot_at: time of the export, by the clock of offers.
        pieces: URLs, up to 1,000 at once; the iteration ends without an error only if the export is complete.
    """

    snapshot_at: datetime
    pieces: AsyncIterator[Sequence[str]]


class OffersClient:
    """Calls the offers service.

    Args:
        channel: channel to the offers service.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = OfferServiceStub(channel)

    async def export_picture_urls(self) -> UrlExport:
        """Begin an export.

        Raises:
            Unavailable: EXPORT_CUT_OFF, the export is incomplete; also while the pieces are read.
            grpc.aio.AioRpcError: the service does not respond.
        """
        call = self._stub.ExportPictureUrls(ExportPictureUrlsRequest(), timeout=_LIMIT_S)
        responses = aiter(call)
        first = await anext(responses, None)
        if first is None or first.WhichOneof("part") != "snapshot_time":
            raise _cut_off("its first message is not its time")
        return UrlExport(first.snapshot_time.ToDatetime(tzinfo=UTC), _pieces(responses))

    async def request_pictures(self, request_id: str) -> str:
        """Have all pictures of offers requested again, once per `request_id`.

        Returns:
            The id of the job at offers; empty if offers requests no pictures.

        Raises:
            grpc.aio.AioRpcError: the service does not respond.
        """
        request = RequestPicturesRequest(request_id=request_id)
        response = await self._stub.RequestPictures(request, timeout=_CALL_LIMIT_S)
        return response.job_id


async def _pieces(responses: AsyncIterator[ExportPictureUrlsResponse]) -> AsyncIterator[Sequence[str]]:
    taken = UrlDigest()
    async for response in responses:
        if response.WhichOneof("part") == "end":
            if (response.end.count, response.end.digest) != (taken.count, taken.digest):
                raise _cut_off(f"it has {taken.count} URLs and announces {response.end.count}, or others")
            if await anext(responses, None) is not None:
                raise _cut_off("it continues after its end")
            return
        taken.add(response.urls.urls)
        yield response.urls.urls
    raise _cut_off("it ended without its count")


def _cut_off(how: str) -> Unavailable:
    return Unavailable(
        "EXPORT_CUT_OFF",
        f"The export of the URLs that offers use is incomplete: {how}. Nothing is deleted; the export is retried.",
    )
