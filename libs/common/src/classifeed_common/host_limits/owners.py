"""OwnerLimits: of each owner one request a host under way at a time, over all processes of a service (ADR 0074)."""

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
# What a host demands of one owner may be of that one alone, such as a quota of its account.
_LONGEST_PAUSE_OF_ALL_S: Final = 600.0


class OwnerLimits:
    """Permits of which an owner has one at each host, so that its slow host or file holds up nobody else's.

    The `permits` of a Fetcher, in place of `HostLimits`. An owner at a host has a row of its own in `fetch_hosts`. A
    `Retry-After` holds for the owner whose request it was, and for ten minutes at most for all others.

    Args:
        database: with the table (`ddl("fetch_hosts", …)`); open while permits are in use.
        policy: bounds of all hosts; the same in all processes. With `at_a_time` = 1 a host has no permit left for
            others while an owner is slow.
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
        """Give a permit for a host, for an owner; "": for nobody in particular. See `HostLimits.permit`.

        Raises:
            HostPaused: the host is paused, or the permit of this owner or host would come too late.
            psycopg.Error: the table cannot be had; a passing fault.
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
        """Give back what was used. Callers that still wait get an error."""
        await self._hosts.close()
        await self._owners.close()


@dataclass(frozen=True, slots=True)
class _OwnerPermit:
    """The permit of a host, together with that of an owner there."""

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
