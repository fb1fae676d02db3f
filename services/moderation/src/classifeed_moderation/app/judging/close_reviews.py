"""ReviewCloser: closes reviews at the verdict service whose texts no longer need a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import structlog

from classifeed_common.clock import Clock
from classifeed_common.db import Database
from classifeed_common.loops import Loop, Looping
from classifeed_common.pacing.backoff import Backoff
from classifeed_moderation.clients.pacer import Pacer
from classifeed_moderation.clients.verdict_service import CloseOutcome, VerdictService
from classifeed_moderation.store import closings
from classifeed_moderation.store.closings import DueClosing

_CLAIM: Final = 100
_RETRY_S: Final = 60.0
_REPEAT_S: Final = 600.0
_LONGEST_PAUSE_S: Final = 3600.0
_log = structlog.get_logger(__name__)


class ReviewCloser(Looping):
    """Closes the reviews of changed, removed or decided texts every `check_interval_s`.

    Each key is closed several times, at doubling intervals. A repeated call closes a review that a concurrent request
    has opened, or that a restore of the verdict service brought back. A service without `close` gets one call an hour.

    Args:
        database: database of the keys.
        service: verdict service.
        clock: clock for pauses.
        check_interval_s: seconds between rounds.
        batch: maximum keys per call.
        pacer: limits the calls per second; None: no limit.
    """

    def __init__(
        self,
        database: Database,
        service: VerdictService,
        clock: Clock,
        *,
        check_interval_s: float,
        batch: int = 1,
        pacer: Pacer | None = None,
    ) -> None:
        self._database = database
        self._service = service
        self._clock = clock
        self.loop = Loop(
            self.round,
            period_s=check_interval_s,
            name="closings",
            doing="closing reviews",
            effect="Reviewers see texts that need no verdict",
            clock=clock,
        )
        self._batch = batch
        self._pacer = pacer
        self._backoff = Backoff(check_interval_s, _LONGEST_PAUSE_S)
        self._paused_until_s = clock.monotonic_s()

    async def round(self) -> bool:
        """Close due reviews until the first call fails; return whether more may be due."""
        if self._clock.monotonic_s() < self._paused_until_s:
            return False
        async with self._database.transaction() as tx:
            claimed, due = await closings.claim_closings(tx, limit=_CLAIM, retry_s=_RETRY_S)
        for first in range(0, len(due), self._batch):
            if not await self._close(due[first : first + self._batch]):
                return False
        return claimed == _CLAIM

    async def _close(self, keys: Sequence[DueClosing]) -> bool:
        if self._pacer is not None:
            await self._pacer.wait(len(keys))
        outcome, fault = await self._service.close_reviews([each.sent_key for each in keys])
        if outcome is CloseOutcome.CLOSED:
            self._backoff.reset()
            async with self._database.transaction() as tx:
                await closings.put_off_closings(tx, keys, repeat_s=_REPEAT_S)
            return True
        pause_s = self._backoff.next_s()
        if outcome is CloseOutcome.UNKNOWN:
            pause_s = _LONGEST_PAUSE_S
        self._paused_until_s = self._clock.monotonic_s() + pause_s
        _log.info("moderation.closings.refused", outcome=outcome, fault=fault, retry_in_s=pause_s)
        return False
