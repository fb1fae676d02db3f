"""MarkPusher: pushes due rows in batches under a lease, and moves their mark."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from psycopg.rows import namedtuple_row

from classifeed_common.clock import Clock
from classifeed_common.db import Database, Tx, rows_of
from classifeed_common.db.rows import RowsOf
from classifeed_common.lease import Lease, LeasedLoop, Leases
from classifeed_common.loops import Loop, Looping
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.pacing.duty_cycle import gather_records
from classifeed_common.pacing.scan_cursor import ScanCursor
from classifeed_common.publish_mark.refusals import Refusals
from classifeed_common.telemetry.metrics import PUBLISHED

_FIRST_PAUSE_S = 0.02
_FIRST_BACKOFF_S = 0.1
_MOST_REFUSALS_IN_BATCHES = 10
_BACKLOG_LIMIT = 100_000


class MarkPusher(Looping):
    """Pushes rows with `version > published_version` until none is left, and again when there are new ones.

    At least once: after a crash between push and mark, or with a paused second pusher, a version may be pushed twice,
    and an older version after a newer one; the receiver orders by version. Refused rows are retried with growing pauses
    and delay no others. If `push` raises, all rows wait with growing pauses.

    Args:
        database: database of the rows.
        name: name of the mark; its lease is `publish_mark/<name>`.
        select_due: SQL that selects due rows, the first to send on top, with `LIMIT %(limit)s`. The first column
            identifies the row, another is called `version`. With `version > %(above)s`, and rows in the order of their
            versions, reads stay short while other transactions are open (ScanCursor).
        advance: SQL that moves the mark, in one statement. For each column of `select_due` there is an array of the
            accepted rows' values, named `<column>s` (`%(offer_ids)s`, `%(versions)s`). It must compare
            `AND published_version < d.version`, so that the mark never falls.
        push: function that receives the rows outside any transaction, and returns for each whether the receiver
            accepted it.
        leases: leases in the same database.
        row_type: a NamedTuple with the columns of `select_due` as fields; None: rows are named tuples.
        record: called in the transaction that moves the mark, after it, for changes that must commit together with it.
            If no row was accepted, there is no such transaction.
        on_idle: called by the pushing process when no row is due, at most every `idle_every_s`. Its exceptions count as
            a failed push: it is called again after a pause.
        batch: largest number of rows at a time.
        max_idle_s: longest pause between two polls without due rows, in seconds; `wake` ends it.
        idle_every_s: shortest time between two calls of `on_idle`, in seconds.
        max_backoff_s: longest pause after an exception of `push`, in seconds.
        gather_s: longest linger after an incomplete batch, in seconds; see `gather_records`.
        clock: clock of the fault's duration; None: the system's.
    """

    loop: LeasedLoop

    def __init__(
        self,
        database: Database,
        *,
        name: str,
        select_due: str,
        advance: str,
        push: Callable[[Sequence[Any]], Awaitable[Sequence[bool]]],
        leases: Leases,
        row_type: type[tuple[Any, ...]] | None = None,
        record: Callable[[Tx], Awaitable[None]] | None = None,
        on_idle: Callable[[], Awaitable[None]] | None = None,
        batch: int = 500,
        max_idle_s: float = 1.0,
        idle_every_s: float = 10.0,
        max_backoff_s: float = 5.0,
        gather_s: float = 0.0,
        clock: Clock | None = None,
    ) -> None:
        self._database = database
        self._name = name
        self._select_due = select_due
        self._advance_sql = advance
        self._push = push
        self._make_rows: RowsOf[Any] = namedtuple_row if row_type is None else rows_of(row_type)
        self._leases = leases
        self._record = record
        self._on_idle = on_idle
        self._idle_every_s = idle_every_s
        self._idle_at_s = float("-inf")
        self._batch = batch
        self._gather_s = gather_s
        self._woken = asyncio.Event()
        self._refusals = Refusals()
        self._cursor = ScanCursor(0)
        self._pauses = Backoff(_FIRST_PAUSE_S, max_idle_s)
        loop = Loop(
            self._push_due,
            period_s=max_idle_s,
            name=name,
            doing="pushing",
            effect="Changed rows wait to be pushed",
            backoff=Backoff(_FIRST_BACKOFF_S, max_backoff_s),
            wake=self._woken,
            on_fault=lambda _: self._cursor.reset(),  # the rows of the read are still due
            event="push.failed",
            clock=clock,
        )
        self.loop = LeasedLoop(leases, self.lease_name, loop, on_gain=self._begin)

    @property
    def lease_name(self) -> str:
        """Name of the lease that allows one pusher at a time."""
        return f"publish_mark/{self._name}"

    def wake(self) -> None:
        """Look for due rows now; call it after the commit of a change in this process. Free of cost."""
        self._woken.set()

    async def backlog(self) -> int:
        """Return the number of due rows including refused ones, counted up to 100,000.

        The pushing process counts from its cursor while there are due rows above it: rows that committed late are
        missing until a read finds them. Only a full scan shows that no row is due.
        """
        async with self._database.connection() as connection:
            if (above := self._cursor.position) and (found := await self._count(connection, above)):
                return found + len(self._refusals)
            return await self._count(connection, 0)

    async def _count(self, connection: Tx, above: int) -> int:
        count = f"SELECT count(*) FROM ({self._select_due}) AS due"  # noqa: S608 - the statement is code, not input
        row = await (await connection.execute(count, {"limit": _BACKLOG_LIMIT, "above": above})).fetchone()
        return int(row[0]) if row else 0

    async def restart(self, tx: Tx) -> None:
        """Ensure that no push already under way moves a mark after `tx` commits.

        For a full resync, after the receiver lost its data: call it in a transaction before the one that sets
        `published_version` to 0, or in the same. Otherwise a batch sent before the loss would mark its rows as known.
        """
        await self._leases.revoke(tx, self.lease_name)

    def _begin(self, _lease: Lease) -> None:
        self._cursor.reset()
        self._pauses.reset()

    async def _push_due(self) -> object:
        began_s = time.monotonic()
        found = await self._push_batch(self.loop.lease)
        if not found:
            await self._idle()
            return self._pauses.next_s()
        self._pauses.reset()
        if self._gather_s and found < self._batch:
            await gather_records(began_s, self.loop.stopping, longest_s=self._gather_s)
        return True

    async def _push_batch(self, lease: Lease) -> int:
        """Push the first due rows that are not paused; return their number."""
        now_s = asyncio.get_running_loop().time()
        self._refusals.forget_old(now_s)
        columns, rows = await self._read(now_s)
        if not rows:
            return 0
        taken = await self._push(rows)
        if len(taken) != len(rows):
            raise ValueError(f"push of {self._name} reported {len(taken)} of {len(rows)} rows")
        done = []
        for row, is_taken in zip(rows, taken, strict=True):
            identity = (row[0], row[columns.index("version")])
            if is_taken:
                done.append(row)
                self._refusals.settle(identity)
            else:
                self._refusals.refuse(identity, now_s)
        PUBLISHED.labels(self._name, "yes").inc(len(done))
        PUBLISHED.labels(self._name, "no").inc(len(rows) - len(done))
        if done:
            values = {f"{column}s": [row[place] for row in done] for place, column in enumerate(columns)}
            async with self._database.transaction() as tx:
                await self._leases.guard(tx, lease)
                # Planned for these arrays each time: a prepared plan assumes ten elements per array, and compares each
                # of hundreds with all others.
                await tx.execute(self._advance_sql, values, prepare=False)
                if self._record is not None:
                    await self._record(tx)
        return len(rows)

    async def _idle(self) -> None:
        now_s = asyncio.get_running_loop().time()
        if self._on_idle is not None and now_s - self._idle_at_s >= self._idle_every_s:
            await self._on_idle()
            self._idle_at_s = now_s

    async def _read(self, now_s: float) -> tuple[list[str], list[Any]]:
        # Paused rows may come before the others, so as many more are read.
        resting = min(len(self._refusals), self._batch * _MOST_REFUSALS_IN_BATCHES)
        async with self._database.connection() as connection:
            above, began_s = self._cursor.begin(), time.monotonic()
            async with connection.cursor(row_factory=self._make_rows) as cursor:
                await cursor.execute(self._select_due, {"limit": self._batch + resting, "above": above})
                rows = await cursor.fetchall()
                columns = [column.name for column in cursor.description or ()]
        if "version" not in columns:
            raise LookupError(f"select_due of {self._name} has no column `version`, only {', '.join(columns)}")
        place = columns.index("version")
        last = max(self._cursor.position, rows[-1][place]) if rows else None
        self._cursor.read(above, last, time.monotonic() - began_s)
        fresh = [row for row in rows if not self._refusals.rests((row[0], row[place]), now_s)]
        return columns, fresh[: self._batch]
