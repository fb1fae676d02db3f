"""PicturesService."""

from __future__ import annotations

from typing import Any

import grpc.aio

from classifeed.pictures.v1.pictures_service_pb2 import GetVersionRequest, GetVersionResponse
from classifeed.pictures.v1.pictures_service_pb2_grpc import PicturesServiceServicer


class PicturesService(PicturesServiceServicer):
    """What pictures does.

    Args:
        version: of the installed distribution.
    """

    def __init__(self, version: str) -> None:
        self._version = version

    async def GetVersion(
        self, request: GetVersionRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> GetVersionResponse:
        """Return which version responds."""
        return GetVersionResponse(version=self._version)
