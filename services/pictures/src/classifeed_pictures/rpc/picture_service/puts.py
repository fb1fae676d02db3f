"""Uploads of pictures."""

from __future__ import annotations

from collections.abc import AsyncIterator

from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed.pictures.v1.picture_service_pb2 import PutPictureRequest
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.rpc.context import Context
from classifeed_pictures.app.files.put_picture import MAX_BYTES, PutPicture, too_large


class PutMethods:
    """Receives pictures in pieces.

    Args:
        put: use case that stores them.
    """

    def __init__(self, put: PutPicture) -> None:
        self._put = put

    async def PutPicture(self, requests: AsyncIterator[PutPictureRequest], context: Context) -> PictureInfo:
        """Store a picture."""
        data = bytearray()
        first: PutPictureRequest | None = None
        async for request in requests:
            first = first or request
            data += request.data
            if len(data) > MAX_BYTES:
                raise too_large()
        if first is None or not first.url or not first.namespace:
            raise InvalidArgument(
                "REQUEST_INVALID",
                "The first message has no url or no namespace. Set both.",
                violations=[FieldViolation("url", "must be set in the first message")],
            )
        return await self._put(first.url, first.namespace, bytes(data))
