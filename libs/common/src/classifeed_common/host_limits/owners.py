"""OwnerLimits: of each owner one request a host under way at a time, over all processes of a service (ADR 0074)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from classifeed_common.db import Database
from classifeed_common.fetch.permits import HostPaused
from classifeed_common.host_limits.limits import HostLimits
from classifeed_common.host_limits.permit import HostPermit
from classifeed_common.host_limits.rates import HostPolicy

_UNLIMITED: Final = 1e5


class OwnerLimits:
    """Permits of which an owner has one at each host, so that its slow host or file holds up nobody else's.

    The `permits` of a Fetcher, in place of `HostLimits`. An owner at a host has a row of its own in `fetch_hosts`.

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
    async def permit(self, host: str, *, owner: str = "") -> AsyncIterator[HostPermit]:
        """Give a permit for a host, for an owner; "": for nobody in particular. See `HostLimits.permit`.

        Raises:
            HostPaused: the host is paused, or this owner's turn or the host's would come too late.
            psycopg.Error: the table cannot be had; a passing fault.
        """
        async with AsyncExitStack() as stack:
            if owner:
                try:
                    await stack.enter_async_context(self._owners.permit(f"{host} {owner}"))
                except HostPaused as paused:
                    raise HostPaused(host, paused.wait_s, paused.until, by_retry_after=False) from paused
            yield await stack.enter_async_context(self._hosts.permit(host))

    async def close(self) -> None:
        """Give back what was used. Callers that still wait get an error."""
        await self._hosts.close()
        await self._owners.close()
