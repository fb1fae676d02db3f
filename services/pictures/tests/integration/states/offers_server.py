"""A fake offers service."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc

from classifeed.offers.v1.offer_service_pb2 import (
    ExportPictureUrlsRequest,
    ExportPictureUrlsResponse,
    PictureUrls,
    PictureUrlsEnd,
)
from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceServicer, add_OfferServiceServicer_to_server


@dataclass
class Offers(OfferServiceServicer):
    """The export of the offers service, complete or cut off by a test."""

    urls: list[str] = field(default_factory=list)
    is_cut: bool = False
    is_altered: bool = False
    wrong_count: int = 0
    exports: int = 0

    async def ExportPictureUrls(
        self, request: ExportPictureUrlsRequest, context: Any
    ) -> AsyncIterator[ExportPictureUrlsResponse]:
        self.exports += 1
        first = ExportPictureUrlsResponse()
        first.snapshot_time.GetCurrentTime()
        yield first
        total = int(self.is_altered)
        for start in range(0, len(self.urls), 1000):
            part = self.urls[start : start + 1000]
            for url in part:
                total += int.from_bytes(hashlib.blake2b(url.encode(), digest_size=16).digest(), "big")
            yield ExportPictureUrlsResponse(urls=PictureUrls(urls=part))
        if not self.is_cut:
            digest = (total % (1 << 128)).to_bytes(16, "big")
            yield ExportPictureUrlsResponse(end=PictureUrlsEnd(count=len(self.urls) + self.wrong_count, digest=digest))


@asynccontextmanager
async def served(servicer: OfferServiceServicer) -> AsyncIterator[str]:
    """Serve it, and yield its address."""
    server = grpc.aio.server()
    add_OfferServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)
