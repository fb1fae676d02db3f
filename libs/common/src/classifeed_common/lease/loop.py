"""LeasedLoop: a loop that runs in one process at a time, the one that has the lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from classifeed_common.lease.keeper import LeaseKeeper
from classifeed_common.lease.leases import Lease, Leases
from classifeed_common.loops import Loop, Looping

_GRACE_S: Final = 5.0


class LeasedLoop(Looping):
    """Runs a loop while this process has the lease, and stops it before another process can acquire the lease.

    A round whose lease expired ends with LeaseLost, and is repeated: a lease that was renewed before another process
    acquired it is still ours. Faults are forgotten with the lease, as the next process reports its own.

    Args:
        leases: leases of this process.
        name: name of the lease.
        loop: the loop; its work takes the lease from `lease`.
        on_gain: called with each new lease, before the first round.
        grace_s: seconds for the round under way after the lease is lost or the service stops; then it is cancelled.

    Attributes:
        stopping: event that ends the loop, for pauses inside the work.
    """

    loop: Loop

    def __init__(
        self,
        leases: Leases,
        name: str,
        loop: Loop,
        *,
        on_gain: Callable[[Lease], None] = lambda _: None,
        grace_s: float = _GRACE_S,
    ) -> None:
        self.loop = loop
        self._leases = leases
        self._name = name
        self._on_gain = on_gain
        self._grace_s = grace_s
        self._lease: Lease | None = None
        self.stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def lease(self) -> Lease:
        """The lease under which the present round runs."""
        assert self._lease is not None, "run() comes first"
        return self._lease

    async def run(self, stop: asyncio.Event) -> None:
        """Hold the lease, or wait for it, until `stop` is set; return once the loop has stopped."""
        await LeaseKeeper(self._leases, [self._name], on_gain=self._start, on_loss=self._end).run(stop)

    async def _start(self, lease: Lease) -> None:
        self._lease = lease
        self._on_gain(lease)
        self.stopping = asyncio.Event()
        self._task = asyncio.create_task(self.loop.run(self.stopping))

    async def _end(self, _lease: Lease) -> None:
        if (task := self._task) is None:
            return
        self.stopping.set()
        await asyncio.wait([task], timeout=self._grace_s)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        self.loop.note_success()
