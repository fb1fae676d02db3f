"""RecordVerdicts: records verdicts and reviews by people, many texts per transaction."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import structlog

from classifeed_common.db import Database, is_passing_fault
from classifeed_common.pacing.duty_cycle import gather_records
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_moderation.app.decisions.apply_verdicts import Arrived, apply_verdicts
from classifeed_moderation.app.decisions.record_decisions import Deciding
from classifeed_moderation.domain.subjects import Task, parse_sent_key
from classifeed_moderation.store import subjects

_BATCH: Final = 200
_GATHER_S: Final = 0.25
_GATHER_TIMES: Final = 10.0
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class WithPeople:
    """A text that people are reviewing."""

    task: Task


Recordable: TypeAlias = Arrived | WithPeople
# Faults of items that could not be written, by index of the item.
Faults: TypeAlias = Mapping[int, Exception]


@dataclass(slots=True)
class _Batch:
    items: list[Recordable] = field(default_factory=list)
    written: asyncio.Future[Faults] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class RecordVerdicts:
    """Collects items while a transaction writes earlier items, and writes them together.

    Args:
        database: database of the texts.
        deciding: rules, clock and outbox of the decisions.
        max_pending_duration_s: seconds that people may have a text.
        gathered_items: number of items that ends the linger pause. It must be below the number of concurrent
            responses, or all of them would wait for more.
        on_decided: called after the commit of decisions.
        on_due: called after a commit that made texts due.
    """

    def __init__(
        self,
        database: Database,
        deciding: Deciding,
        *,
        max_pending_duration_s: float,
        gathered_items: int = _BATCH,
        on_decided: Callable[[], None],
        on_due: Callable[[], None],
    ) -> None:
        self._database = database
        self._deciding = deciding
        self._pending_s = max_pending_duration_s
        self._gathered_items = min(gathered_items, _BATCH)
        self._on_decided = on_decided
        self._on_due = on_due
        self._batches: deque[_Batch] = deque()
        self._writing: asyncio.Task[None] | None = None
        self._has_gathered = asyncio.Event()

    async def __call__(self, items: Sequence[Recordable], *, gathers: bool = False) -> None:
        """Record items and return once all are committed; transactions are small so as not to block the event loop.

        Args:
            items: verdicts and texts under review.
            gathers: whether the items may wait for more; False if a caller waits for the response.

        Raises:
            Exception: the fault of the transaction, or of one item that could not be written. The caller must not
                confirm the items as stored.
        """
        for begin in range(0, len(items), _BATCH):
            await self._record(items[begin : begin + _BATCH], gathers=gathers)

    async def _record(self, items: Sequence[Recordable], *, gathers: bool) -> None:
        if not self._batches or len(self._batches[-1].items) >= _BATCH:
            self._batches.append(_Batch())
        batch = self._batches[-1]
        first = len(batch.items)
        batch.items += items
        if not gathers or len(batch.items) >= self._gathered_items:
            self._has_gathered.set()
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        faults = await asyncio.shield(batch.written)
        for place in range(first, first + len(items)):
            if place in faults:
                raise faults[place]

    async def write(self, items: Sequence[Recordable]) -> Faults:
        """Write items together; return the faults of items that cannot be written, which do not hold up the others.

        Raises:
            Exception: a transient fault.
        """
        try:
            await self._write(items)
        except Exception as error:
            if is_passing_fault(error):
                raise
            if len(items) == 1:
                log_fault(_log, "moderation.verdicts.not_recorded", error, key=_key_of(items[0]))
                return {0: error}
            return {place: fault for place, item in enumerate(items) for fault in (await self.write([item])).values()}
        return {}

    async def _write_all(self) -> None:
        while self._batches:
            batch = self._batches.popleft()
            self._has_gathered.clear()
            began_s = time.monotonic()
            try:
                faults = await self.write(batch.items)
            except Exception as error:  # noqa: BLE001 - all callers that wait for the batch get it
                batch.written.set_exception(error)
                batch.written.exception()
            except asyncio.CancelledError:
                batch.written.cancel()
                raise
            else:
                batch.written.set_result(faults)
                if len(batch.items) < _BATCH:
                    await gather_records(began_s, self._has_gathered, longest_s=_GATHER_S, times=_GATHER_TIMES)

    async def _write(self, items: Sequence[Recordable]) -> None:
        arrived = [each for each in items if isinstance(each, Arrived)]
        left = [each.task for each in items if isinstance(each, WithPeople)]
        async with self._database.transaction() as tx:
            if left:
                further = [parse_sent_key(each.sent_key).key for each in arrived]
                await subjects.leave(tx, left, pending_s=self._pending_s, further=further)
            applied = await apply_verdicts(tx, arrived, self._deciding, longest_retry_s=self._pending_s)
        if applied.recorded:
            self._on_decided()
        if applied.is_due:
            self._on_due()


def _key_of(item: Recordable) -> str:
    return item.sent_key if isinstance(item, Arrived) else item.task.key
