"""Cache of the clients' epochs, which is refreshed when it is old or may be wrong."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from classifeed_common.clock import Clock
from classifeed_common.db import Database
from classifeed_common.errors import FailedPrecondition
from classifeed_receiver.domain.schemas import Epochs
from classifeed_receiver.store import schemas

# Otherwise every push with an invalid document would read the schemas again.
_LEAST_AGE_S: Final = 0.2
_REFRESH_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Known:
    epochs: Epochs
    read_at_s: float


class KnownEpochs:
    """Epochs by client, at most `refresh_s` seconds old; `get_newer` refreshes them earlier."""

    def __init__(self, database: Database, clock: Clock, *, refresh_s: float = _REFRESH_S) -> None:
        self._database = database
        self._clock = clock
        self._refresh_s = refresh_s
        self._known: dict[str, _Known] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def get(self, client: str) -> Epochs:
        """Return the epochs of a client.

        Raises:
            FailedPrecondition: the client has none.
        """
        return self._checked(client, await self._at_most(client, self._refresh_s))

    async def get_newer(self, client: str, than: Epochs) -> Epochs | None:
        """Return epochs that may be newer than those given; None if those were read a moment ago."""
        epochs = self._checked(client, await self._at_most(client, _LEAST_AGE_S))
        return None if epochs is than else epochs

    def forget(self, client: str) -> None:
        """Drop the cached epochs of a client; call it after a change of its epochs."""
        self._known.pop(client, None)

    async def _at_most(self, client: str, age_s: float) -> Epochs:
        async with self._locks[client]:
            known = self._known.get(client)
            now_s = self._clock.monotonic_s()
            # A client without epochs is not cached: it is about to put its first one.
            if known is not None and now_s - known.read_at_s <= age_s:
                return known.epochs
            async with self._database.connection() as connection:
                epochs = await schemas.list_epochs(connection, client)
            if epochs.by_number:
                self._known[client] = _Known(epochs, now_s)
            return epochs

    @staticmethod
    def _checked(client: str, epochs: Epochs) -> Epochs:
        if not epochs.by_number:
            raise FailedPrecondition(
                "CLIENT_HAS_NO_SCHEMA",
                f"The client {client} has no schema yet, so no document of it can be checked. "
                "Put the schema of its first epoch by SchemaService.PutSchema, then push again.",
                metadata={"client": client},
            )
        return epochs
