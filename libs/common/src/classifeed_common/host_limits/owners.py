"""OwnerLimits: one request at a time per owner and host, over all processes of a service (ADR 0074)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from classifeed_common.db import Database
from classifeed_common.fetch.permits import HostPaused, Outcome, Permit
from classifeed_common.host_limits.limits import HostLimits
from classifeed_common.host_limits.permit import HostPermit
from classifeed_common.host_limits.rates import HostPolicy

_UNLIMITED: Final = 1e5
# A host's demand may concern a single owner, such as a quota of its account.
_LONGEST_PAUSE_OF_ALL_S: Final = 600.0


class OwnerLimits:
    """Permits of which an owner has one per host, so that a slow host or file of one owner delays no other owner.

    The `permits` of a Fetcher, instead of `HostLimits`. Each owner has a separate row per host in `fetch_hosts`. A
    `Retry-After` applies to the owner of the request in full, and to all others for at most ten minutes.

    Args:
        database: database with the table (`ddl("fetch_hosts", …)`); open while permits are in use.
        policy: limits of every host; must be the same in all processes. With `at_a_time` = 1, a host has no permit for
            other owners while one is slow.
    """

    def __init__(self, database: Database, policy: HostPolicy) -> None:
        self._hosts = HostLimits(database, policy)
        self._owners = HostLimits(
            database,
            HostPolicy(
                first_rate=_UNLIMITED,
                highest_rate=_UNLIMITED,
                at_a_time=1,
                max_wait_s=policy.max_wait_s,
                hold_s=policy.hold_s,
            ),
        )

    @asynccontextmanager
    async def permit(self, host: str, *, owner: str = "") -> AsyncIterator[Permit]:
        """Provide a permit for a host and an owner; "": nobody in particular. See `HostLimits.permit`.

        Raises:
            HostPaused: the host is paused, or the permit of this owner or host would come too late.
            psycopg.Error: the table cannot be used; a passing fault.
        """
        if not owner:
            async with self._hosts.permit(host) as permit:
                yield permit
            return
        async with AsyncExitStack() as stack:
            try:
                of_owner = await stack.enter_async_context(self._owners.permit(f"{host} {owner}"))
            except HostPaused as paused:
                raise HostPaused(host, paused.wait_s, paused.until, by_retry_after=paused.by_retry_after) from paused
            yield _OwnerPermit(await stack.enter_async_context(self._hosts.permit(host)), of_owner)

    async def close(self) -> None:
        """Drop reports that could not be sent; see `HostLimits.close`."""
        await self._hosts.close()
        await self._owners.close()


@dataclass(frozen=True, slots=True)
class _OwnerPermit:
    """The permit of a host, with the owner's permit there."""

    of_host: HostPermit
    of_owner: HostPermit

    async def ready(self) -> None:
        await self.of_host.ready()

    def report(self, outcome: Outcome, retry_after_s: float | None = None) -> None:
        if retry_after_s:
            self.of_owner.report(Outcome.FAILED, retry_after_s)
            retry_after_s = min(retry_after_s, _LONGEST_PAUSE_OF_ALL_S)
        self.of_host.report(outcome, retry_after_s)

    def now(self) -> datetime:
        return self.of_host.now()
