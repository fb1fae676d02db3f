"""Requests, retries and deletions, sent as messages to the resharder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from classifeed.pictures.v1.events_pb2 import DELETE_REASON_REQUESTED, DeletePicture, LookAgain
from classifeed.pictures.v1.picture_service_pb2 import (
    DeletePicturesRequest,
    DeletePicturesResponse,
    LookAgainRequest,
    LookAgainResponse,
    RequestPicturesRequest,
    RequestPicturesResponse,
)
from classifeed.pictures.v1.requests_pb2 import PictureNotice, PictureRequests
from classifeed_common.clock import Clock
from classifeed_common.kafka import KafkaProducer, message_of
from classifeed_common.pacing.yielding import Yielder, map_yielding
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_domain.topics import PICTURES_REQUESTS
from classifeed_pictures.app.events.compose_messages import notice_messages
from classifeed_pictures.domain.lifecycle.events import NOBODY
from classifeed_pictures.domain.urls.sizes import check_size

_A_MESSAGE: Final = 100


class RequestMethods:
    """Sends requests and notices, which are applied in order per URL.

    Args:
        producer: producer of the messages.
        clock: clock for the time of the messages.
    """

    def __init__(self, producer: KafkaProducer, clock: Clock) -> None:
        self._producer = producer
        self._clock = clock

    async def RequestPictures(self, request: RequestPicturesRequest, context: Context) -> RequestPicturesResponse:
        """Request pictures for a namespace."""
        check_size(request.urls)
        yielder = Yielder()
        messages = []
        for start in range(0, len(request.urls), _A_MESSAGE):
            requests = PictureRequests(recipient=NOBODY)
            for url in request.urls[start : start + _A_MESSAGE]:
                added = requests.requests.add(url=url, namespace=request.namespace)
                added.request_time.FromDatetime(self._clock.now())
            messages.append(message_of(PICTURES_REQUESTS, NOBODY.encode(), requests))
            await yielder.yield_if_due()
        await self._producer.send(messages, limit_s=remaining_s())
        return RequestPicturesResponse()

    async def LookAgain(self, request: LookAgainRequest, context: Context) -> LookAgainResponse:
        """Retry failed pictures."""
        await self._notify(request.urls, PictureNotice(look_again=LookAgain(force=True)))
        return LookAgainResponse()

    async def DeletePictures(self, request: DeletePicturesRequest, context: Context) -> DeletePicturesResponse:
        """Delete pictures."""
        deletion = DeletePicture(reason=DELETE_REASON_REQUESTED, namespace=request.namespace)
        await self._notify(request.urls, PictureNotice(delete_picture=deletion))
        return DeletePicturesResponse()

    async def _notify(self, urls: Sequence[str], template: PictureNotice) -> None:
        check_size(urls)
        template.notice_time.FromDatetime(self._clock.now())

        def notice_of(url: str) -> PictureNotice:
            notice = PictureNotice(url=url)
            notice.MergeFrom(template)
            return notice

        notices = await map_yielding(notice_of, urls)
        await self._producer.send(notice_messages(notices), limit_s=remaining_s())
