"""LeasedWork: work that runs in one process at a time, the one that has the lease."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from classifeed_common.clock import Clock
from classifeed_common.faults.lasting import LastingFault
from classifeed_common.lease.keeper import LeaseKeeper
from classifeed_common.lease.leases import Lease, Leases

_MAX_WAIT_S: Final = 5.0


class LeasedWork:
    """Runs its work while this process has the lease, and stops it before another process can acquire the lease.

    Args:
        leases: leases of this process.
        name: name of the lease.
        work: receives the lease and an event; must return soon after the event is set, otherwise it is cancelled.
        on_stop: called after the event is set, for example to end a pause of the work.
        clock: clock of the fault's duration; None: the system's.

    Attributes:
        fault: fault of the work, which notes and clears it; cleared with the lease, as the next process reports its
            own.
    """

    def __init__(
        self,
        leases: Leases,
        name: str,
        work: Callable[[Lease, asyncio.Event], Awaitable[None]],
        *,
        on_stop: Callable[[], None],
        clock: Clock | None = None,
    ) -> None:
        self._leases = leases
        self._name = name
        self._work = work
        self._on_stop = on_stop
        self.fault = LastingFault(clock)
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Hold the lease, or wait for it, until `stop` is set; return once the work has returned."""
        await LeaseKeeper(self._leases, [self._name], on_gain=self._start, on_loss=self._end).run(stop)

    async def _start(self, lease: Lease) -> None:
        self._stopping = asyncio.Event()
        self._task = asyncio.ensure_future(self._work(lease, self._stopping))

    async def _end(self, _lease: Lease) -> None:
        if (task := self._task) is None:
            return
        self._stopping.set()
        self._on_stop()
        await asyncio.wait([task], timeout=_MAX_WAIT_S)
        task.cancel()
        self.fault.clear()
        with suppress(asyncio.CancelledError):
            await task
