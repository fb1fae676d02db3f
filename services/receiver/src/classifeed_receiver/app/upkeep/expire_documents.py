"""Expire documents whose `ttl` has passed, and remove old tombstones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import structlog

from classifeed_common.db import Database
from classifeed_common.loops import Loop, Looping
from classifeed_receiver.store import registry

_log = structlog.get_logger(__name__)

_INTERVAL_S: Final = 1.0
_DOCUMENTS: Final = 500
_COUNTED_AT_MOST: Final = 10_000


class DocumentExpirer(Looping):
    """Turns expired documents into tombstones and removes old tombstones, in small transactions.

    Any number of processes may run it. The deletion of an expired document goes through the queue like any other.
    """

    def __init__(self, database: Database, *, tombstone_age_s: float, documents: int = _DOCUMENTS) -> None:
        self._database = database
        self._documents = documents
        self._tombstone_age_s = tombstone_age_s
        self.loop = Loop(
            self.expire_once,
            period_s=_INTERVAL_S,
            name="expiry",
            doing="removing expired documents",
            effect="They stay in the search",
        )

    async def expire_once(self) -> bool:
        """Process one batch of each kind; return whether a batch was full, so that more may be due."""
        async with self._database.transaction() as tx:
            expired = await registry.expire_documents(tx, self._documents)
        async with self._database.transaction() as tx:
            forgotten = await registry.delete_tombstones(tx, age_s=self._tombstone_age_s, limit=self._documents)
        if expired or forgotten:
            _log.info("receiver.documents.expired", expired=expired, forgotten=forgotten)
        return max(expired, forgotten) >= self._documents

    async def backlog(self) -> Mapping[str, int]:
        """Return the number of expired documents that are still live, at most 10,000."""
        async with self._database.connection() as connection:
            return {"expired": await registry.count_expired(connection, _COUNTED_AT_MOST)}
