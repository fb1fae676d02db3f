"""A service of offers that a test plays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc

from classifeed.offers.v1.offer_service_pb2_grpc import OfferServiceServicer, add_OfferServiceServicer_to_server


@asynccontextmanager
async def served(servicer: OfferServiceServicer) -> AsyncIterator[str]:
    """Serve it, and yield its address."""
    server = grpc.aio.server()
    add_OfferServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)
