"""Watch for documents in abandoned epochs: nobody finds them, and only their client can push them again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from classifeed_common.db import Database, is_passing_fault
from classifeed_receiver.app.trim_queues import wait_for
from classifeed_receiver.store import registry, schemas

_log = structlog.get_logger(__name__)

_COUNTED_AT_MOST: Final = 100_000


class AbandonedWatch:
    """Counts documents in abandoned epochs now and then. Costs a scan of the registry where such epochs are, else none.

    Earlier releases took the schema of a second epoch that nothing could activate.
    """

    def __init__(self, database: Database, *, interval_s: float) -> None:
        self._database = database
        self._interval_s = interval_s
        self._found: dict[str, str] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Count until `stop` is set; a database that is away is waited for."""
        while not stop.is_set():
            try:
                await self.count_once()
            except Exception as error:
                if not is_passing_fault(error):
                    raise
                _log.warning("abandoned epochs are not counted now", error=str(error))
            await wait_for(stop, self._interval_s)

    async def count_once(self) -> None:
        """Count the documents of all clients' abandoned epochs."""
        found = {}
        async with self._database.connection() as connection:
            for client in await schemas.select_clients(connection):
                epochs = await schemas.select_epochs(connection, client)
                if not epochs.abandoned:
                    continue
                count = await registry.count_abandoned(connection, client, epochs.abandoned, _COUNTED_AT_MOST)
                if count:
                    numbers = ", ".join(map(str, sorted(epochs.abandoned)))
                    found[client] = (
                        f"{count} documents are stored in epoch {numbers}, which was abandoned, so nobody finds them: "
                        f"have all documents of {client} pushed again (offers: `classifeed offer republish`)"
                    )
        if found != self._found:
            _log.warning("receiver.abandoned.documents", found=found)
        self._found = found

    def blocked(self) -> Mapping[str, str]:
        """Return, by client, what lies in abandoned epochs and what to do."""
        return dict(self._found)
