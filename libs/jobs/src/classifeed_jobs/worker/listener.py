"""Listener: receives the notifications of the job tables on a separate connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import psycopg
import structlog

from classifeed_common.db import Database
from classifeed_common.loops import retry
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.telemetry.fault_log import log_fault

_log = structlog.get_logger("classifeed_jobs.worker.listener")

CHANNEL: Final = "dl_jobs"
CANCEL_PREFIX: Final = "cancel "
# An idle connection is silent, so only a statement shows that it is alive.
_CHECK_EVERY_S: Final = 8.0
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 5.0


class Listener:
    """Calls `on_payload` for each notification, and `on_gap` for each new connection, as some may have been missed.

    Polling finds the same changes later, so nothing is lost without a connection. A payload is the name of a queue
    whose job became ready or got a new time, or `cancel <worker_id>` if a run of that worker must stop.
    """

    def __init__(self, database: Database, on_payload: Callable[[str], None], on_gap: Callable[[], None]) -> None:
        self._db = database
        self._on_payload = on_payload
        self._on_gap = on_gap
        self._backoff = Backoff(_FIRST_WAIT_S, _LONGEST_WAIT_S)

    async def run(self) -> None:
        """Listen until cancelled; reconnect with back-off."""
        await retry(self._listen, self._backoff, self._note_loss)

    async def _listen(self) -> None:
        async with self._db.dedicated_connection() as connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            self._backoff.reset()
            self._on_gap()
            while True:
                async for notification in connection.notifies(timeout=_CHECK_EVERY_S):
                    self._on_payload(notification.payload)
                await connection.execute("SELECT 1")

    def _note_loss(self, error: Exception, wait_s: float) -> None:
        if not isinstance(error, psycopg.Error | OSError):
            raise error
        log_fault(_log, "worker.listen.lost", error, retry_in_s=wait_s)
