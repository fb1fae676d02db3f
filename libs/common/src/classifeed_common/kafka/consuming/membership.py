"""Membership: replaces a client that reads nothing and does not notice.

librdkafka usually rejoins its group and finds its brokers again after any pause. Sometimes it does not, and a consumer
that polls and gets nothing looks healthy from the inside.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

import structlog

from classifeed_common.errors import times
from classifeed_common.kafka.consuming.reader import PartitionReader
from classifeed_common.kafka.probe import are_brokers_reachable
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.telemetry import metrics

_log = structlog.get_logger(__name__)

_PROBE_EVERY_S: Final = 5.0
_LONGEST_MAX_WAIT_S: Final = 300.0
_NAMED_AFTER_S: Final = 30.0


class Membership:
    """Replaces a reader's client that has no assignment, or gets no records although there are some.

    Only time in which another client can reach the brokers counts: while they are away, no client is replaced.
    """

    def __init__(self, reader: PartitionReader, bootstrap: str, group: str, *, max_wait_s: float) -> None:
        """Prepare.

        Args:
            reader: reader with the client.
            bootstrap: addresses of brokers, comma separated.
            group: consumer group, for logs, metrics and messages.
            max_wait_s: seconds that a client may read nothing while the brokers respond; doubled each time a new client
                did not help, because joining takes longer on a busy machine.
        """
        self._reader = reader
        self._bootstrap = bootstrap
        self._group = group
        self._backoff = Backoff(max_wait_s, _LONGEST_MAX_WAIT_S)
        self._max_wait_s = self._backoff.next_s()
        self._probe: asyncio.Task[bool] | None = None
        self._next_probe_s = 0.0
        self._idle_since_s: float | None = None
        self._reachable_since_s: float | None = None
        self._replaced = 0

    async def keep(self, *, starves: bool) -> None:
        """Check the reader, and replace its client if necessary. Does not wait for the brokers.

        Args:
            starves: whether records exist, none came for a while, and nothing else holds them up.
        """
        now_s = time.monotonic()
        if self._reader.joined and not starves:
            self._idle_since_s = self._reachable_since_s = None
            self._backoff.reset()
            self._max_wait_s, self._replaced = self._backoff.next_s(), 0
            return
        if self._idle_since_s is None:
            self._idle_since_s = now_s
        if self._probe is not None and self._probe.done():
            is_reachable, self._probe = self._probe.result(), None
            if not is_reachable:
                self._reachable_since_s = None
            elif self._reachable_since_s is None:
                self._reachable_since_s = now_s
            elif now_s - self._reachable_since_s >= self._max_wait_s:
                await self._replace(now_s)
        if self._probe is None and now_s >= self._next_probe_s:
            self._next_probe_s = now_s + _PROBE_EVERY_S
            self._probe = asyncio.create_task(asyncio.to_thread(are_brokers_reachable, self._bootstrap))

    async def close(self) -> None:
        """Stop checking."""
        if self._probe is not None:
            await asyncio.wait({self._probe})

    def describe(self) -> str:
        """Return a description of the fault; empty if there is none, or not for long."""
        if self._idle_since_s is None or time.monotonic() - self._idle_since_s < _NAMED_AFTER_S:
            return ""
        brokers = "the brokers do not reply" if self._reachable_since_s is None else "the brokers respond"
        return (
            f"nothing of group {self._group} has been read here for {time.monotonic() - self._idle_since_s:.0f} s; "
            f"{brokers}; the client was replaced {times(self._replaced)} and rejoins automatically"
        )

    async def _replace(self, now_s: float) -> None:
        self._replaced += 1
        _log.error("consumer.client.replaced", group=self._group, max_wait_s=self._max_wait_s, times=self._replaced)
        metrics.REOPENED.labels(self._group).inc()
        await self._reader.reopen()
        self._reachable_since_s = now_s
        self._max_wait_s = self._backoff.next_s()
