"""Has the indexes of all clients made as soon as their schemas are there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import grpc
import structlog

from classifeed_searcher.clients.schemas import SchemaClient
from classifeed_searcher.store.catalogue import IndexCatalogue

log = structlog.get_logger(__name__)
_RETRY_S = 1.0


class SchemaWatch:
    """Role: asks the receiver for the active schema of each client that has no index yet.

    A searcher that has an index on disk searches it without the receiver; a new one answers with no hits until then.
    """

    def __init__(self, catalogues: Mapping[str, IndexCatalogue], schemas: SchemaClient) -> None:
        self._catalogues = catalogues
        self._schemas = schemas

    async def run(self, stop: asyncio.Event) -> None:
        """Works until `stop` is set."""
        missing = {name for name, catalogue in self._catalogues.items() if catalogue.active is None}
        while missing and not stop.is_set():
            for name in sorted(missing):
                try:
                    schema = await self._schemas.get(name, 0)
                except grpc.aio.AioRpcError as error:
                    log.info("searcher.schema.awaited", client=name, answer=error.code().name)
                    continue
                self._catalogues[name].add(schema)
                missing.discard(name)
            if missing:
                await _wait(stop, _RETRY_S)
        await stop.wait()


async def _wait(stop: asyncio.Event, timeout_s: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), timeout_s)
    except TimeoutError:
        return
