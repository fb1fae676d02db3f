"""LeaseKeeper: holds many leases while the process runs, and shares them fairly with other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

import structlog

from classifeed_common.db import load_queries
from classifeed_common.lease.leases import Lease, Leases
from classifeed_common.pacing.waiting import wait_for_event
from classifeed_common.telemetry.fault_log import log_fault

_QUERIES = load_queries("classifeed_common.lease")
_ATTEND, _LEAVE, _MEMBERS = _QUERIES["attend"], _QUERIES["leave"], _QUERIES["members"]
_LONGEST_PAUSE_S = 0.5  # a takeover takes at most this and a round trip longer than the ttl

_log = structlog.get_logger(__name__)


class LeaseKeeper:
    """Holds `names`, or this holder's fair share of them, from `run` to its stop.

    Each round is one transaction: it renews all held leases by one UPDATE, lists the living members, and takes free
    names up to the share. Leases above the share are given up: first `on_loss`, then the release. If the database does
    not respond for `ttl_s`, all leases count as lost. Callbacks for one name never overlap.

    Args:
        leases: leases of this holder.
        names: names to hold.
        on_gain: called with each new lease; must return quickly (start a task). If it raises, the lease is given up.
        on_loss: called when a lease is lost or given up; must return once its work has stopped. A lease that is given
            up is kept until then.
        group: group whose members, over all processes, share the names evenly. None: the first process holds all names,
            and the others stand by.
    """

    def __init__(
        self,
        leases: Leases,
        names: Sequence[str],
        *,
        on_gain: Callable[[Lease], Awaitable[None]],
        on_loss: Callable[[Lease], Awaitable[None]],
        group: str | None = None,
    ) -> None:
        self._leases = leases
        self._names = list(names)
        self._on_gain = on_gain
        self._on_loss = on_loss
        self._group = group
        self._held: dict[str, Lease] = {}
        self._leaving: dict[str, tuple[Lease, asyncio.Task[None]]] = {}
        self._valid_until_s = 0.0
        self._renewed_at_s = float("-inf")

    @property
    def _pause_s(self) -> float:
        return min(self._leases.ttl_s / 3, _LONGEST_PAUSE_S)

    @property
    def held(self) -> dict[str, Lease]:
        """A copy of the held leases, by name."""
        return dict(self._held)

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop`, then stop all work and release all leases. Database faults are retried."""
        watch = asyncio.create_task(self._watch_expiry())
        try:
            while not stop.is_set():
                await self._round()
                await wait_for_event(stop, self._pause_s)
        finally:
            await self._drain()
            watch.cancel()

    async def _round(self) -> None:
        started_s = _now_s()
        if self._group is None and len(self._held) == len(self._names) and not self._is_renewal_due(started_s):
            return  # there is nothing to take, and no group to share with
        try:
            gained = await self._renew_and_take(started_s)
        except Exception as error:  # noqa: BLE001 - after any error, a retry is all that can be done
            log_fault(_log, "leases.renewal.failed", error, retry_in_s=self._pause_s, holder=self._leases.holder)
            return
        self._held.update({lease.name: lease for lease in gained})
        if gained:
            _log.info("leases.gained", holder=self._leases.holder, leases=_in_words(gained))
        for lease in gained:
            try:
                await self._on_gain(lease)
            except Exception as error:  # noqa: BLE001 - the caller's code; other leases must not suffer
                log_fault(_log, "lease.unusable", error, lease=lease.name)
                self._let_go([lease], "unusable")

    def _is_renewal_due(self, now_s: float) -> bool:
        return now_s - self._renewed_at_s >= self._leases.ttl_s / 3

    async def _renew_and_take(self, started_s: float) -> list[Lease]:
        """Renew and take leases in one transaction; change the local state after its commit."""
        gained: list[Lease] = []
        kept = [*self._held.values(), *(lease for lease, _ in self._leaving.values())]
        renewing = self._is_renewal_due(started_s)
        async with self._leases.database.transaction(timeout_s=self._leases.ttl_s / 2) as tx:
            still: set[str] = set()
            if renewing:
                if self._group is not None:
                    await tx.execute(_ATTEND, self._membership())
                if kept:
                    still = await self._leases.renew_in(tx, kept)
            share = len(self._names)
            if self._group is not None:
                members = [row[0] for row in await (await tx.execute(_MEMBERS, self._membership())).fetchall()]
                share = fair_share(len(self._names), members, self._leases.holder)
            taken = self._held.keys() | self._leaving.keys()
            free = [name for name in self._names if name not in taken]
            gained = await self._leases.acquire_in(tx, free, min(share - len(self._held), len(free)))
        if renewing:
            self._renewed_at_s = started_s
            self._valid_until_s = started_s + self._leases.ttl_s
            self._let_go([lease for lease in kept if lease.name not in still], "lost")
        self._let_go(list(self._held.values())[share:], "shared")
        return gained

    async def _watch_expiry(self) -> None:
        """Stop the work when renewals have failed for too long; the fence guards the writes in any case."""
        while True:
            await asyncio.sleep(max(self._valid_until_s - _now_s(), self._leases.ttl_s / 20))
            if _now_s() >= self._valid_until_s:
                self._let_go(list(self._held.values()), "expired")

    def _let_go(self, leases: Sequence[Lease], reason: str) -> None:
        """Stop the work of leases and release them, each in a separate task; those already leaving are skipped."""
        going = [lease for lease in leases if self._held.pop(lease.name, None) is not None]
        for lease in going:
            task = asyncio.create_task(self._stop_and_release(lease))
            self._leaving[lease.name] = (lease, task)
            task.add_done_callback(partial(self._forget, lease.name))
        if going:
            _log.info("leases.let_go", holder=self._leases.holder, reason=reason, leases=_in_words(going))

    def _forget(self, name: str, _task: asyncio.Task[None]) -> None:
        del self._leaving[name]

    async def _stop_and_release(self, lease: Lease) -> None:
        try:
            await self._on_loss(lease)
        except Exception as error:  # noqa: BLE001 - the caller's code; the name must be released all the same
            log_fault(_log, "lease.work.failed", error, lease=lease.name)
        try:
            await self._leases.release(lease)
        except Exception as error:  # noqa: BLE001 - the lease expires anyway
            log_fault(_log, "lease.release.failed", error, lease=lease.name)

    async def _drain(self) -> None:
        if self._group is not None:
            with suppress(Exception):  # the row expires anyway
                async with self._leases.database.connection() as connection:
                    await connection.execute(_LEAVE, self._membership())
        self._let_go(list(self._held.values()), "draining")
        while self._leaving:
            tasks = {task for _, task in self._leaving.values()}
            await asyncio.wait(tasks, timeout=self._leases.ttl_s / 3)
            if kept := [lease for lease, _ in self._leaving.values()]:
                with suppress(Exception):  # the next round of this loop retries
                    await self._leases.renew(kept)

    def _membership(self) -> dict[str, object]:
        member = f"{self._group}@{self._leases.holder}"
        return {
            "member": member,
            "holder": self._leases.holder,
            "group": self._group,
            "ttl_s": self._leases.ttl_s,
        }


def fair_share(names: int, members: Sequence[str], holder: str) -> int:
    """Return the holder's share of `names`: shares of all members differ by at most one and add up to `names`.

    A holder that is not among the members gets nothing.
    """
    if holder not in members:
        return 0
    each, rest = divmod(names, len(members))
    return each + (sorted(members).index(holder) < rest)


def _in_words(leases: Sequence[Lease]) -> str:
    return ", ".join(f"{lease.name} (fence {lease.fence})" for lease in leases)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
