"""Lease and Leases: acquire, renew, release, and the guard that rejects writes of a late holder."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from classifeed_common.db import Database, Tx, load_queries
from classifeed_common.errors import Aborted

_QUERIES = load_queries("classifeed_common.lease")
_MAKE_MISSING, _ACQUIRE, _RENEW = _QUERIES["make_missing"], _QUERIES["acquire"], _QUERIES["renew"]
_RELEASE, _GUARD = _QUERIES["release"], _QUERIES["guard"]
_REVOKE, _EXPIRE_REVOKED = _QUERIES["revoke"], _QUERIES["expire_revoked"]


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work for a name, until it expires by the database's clock.

    Attributes:
        name: name of the work.
        holder: id of the holder, unique per process (`ids.process_holder`).
        fence: number that grows with each acquisition of the name; writes of a late holder have a smaller one. It is at
            least the database's clock in µs at that time, so that it also grows across a restore of the table.
    """

    name: str
    holder: str
    fence: int


class LeaseLost(Aborted):
    """The lease has expired, or another holder has the name: stop this work; its effects are rolled back."""

    def __init__(self, lease: Lease) -> None:
        super().__init__("LEASE_LOST", f"lease {lease.name} (fence {lease.fence}) is no longer held by {lease.holder}")
        self.lease = lease


class Leases:
    """The leases of one holder, in the table `leases` of a service's schema.

    Only the database's clock decides on expiry, so that processes need not agree on the time. Stateless: only the
    caller knows which leases it has acquired.

    Args:
        database: database with the table (`ddl("leases", 1)`).
        holder: id of the holder, unique per process (`ids.process_holder`).
        ttl_s: seconds that an acquisition or renewal lasts; renew after a third of it.
    """

    def __init__(self, database: Database, holder: str, ttl_s: float) -> None:
        if not holder or ttl_s <= 0:
            raise ValueError(f"a lease needs a holder and a ttl above 0, not {holder!r} and {ttl_s}")
        self.database = database
        self.holder = holder
        self.ttl_s = ttl_s

    async def acquire(self, name: str) -> Lease | None:
        """Return the lease; None while another holder has it, or a guarded transaction of its last holder still runs.

        Does not wait. Not reentrant: a holder that has the lease gets None, too.
        """
        acquired = await self.acquire_some([name], 1)
        return acquired[0] if acquired else None

    async def acquire_some(self, names: Sequence[str], count: int) -> list[Lease]:
        """Return at most `count` leases of free `names`; like `acquire`."""
        async with self.database.transaction(timeout_s=self.ttl_s) as tx:
            return await self.acquire_in(tx, names, count)

    async def acquire_in(self, tx: Tx, names: Sequence[str], count: int) -> list[Lease]:
        """Acquire inside a transaction of the caller; nothing is held unless it commits. See `acquire_some`."""
        if count <= 0:
            return []
        await tx.execute(_MAKE_MISSING, {"names": list(names)})
        values = {"names": list(names), "count": count, "holder": self.holder, "ttl_s": self.ttl_s}
        rows = await (await tx.execute(_ACQUIRE, values)).fetchall()
        return [Lease(name, self.holder, fence) for name, fence in rows]

    async def renew(self, leases: Collection[Lease]) -> set[str]:
        """Extend the leases by another `ttl_s`, in one UPDATE; return the names still held. Idempotent.

        Never waits for guarded transactions. A lease that is missing in the result is lost.
        """
        async with self.database.transaction(timeout_s=self.ttl_s) as tx:
            return await self.renew_in(tx, leases)

    async def renew_in(self, tx: Tx, leases: Collection[Lease]) -> set[str]:
        """Renew inside a transaction of the caller; see `renew`."""
        values = {
            "names": [lease.name for lease in leases],
            "holders": [lease.holder for lease in leases],
            "fences": [lease.fence for lease in leases],
            "ttl_s": self.ttl_s,
        }
        return {name for (name,) in await (await tx.execute(_RENEW, values)).fetchall()}

    async def release(self, lease: Lease) -> None:
        """Free the name for other holders; no effect if the lease is already lost. Idempotent."""
        async with self.database.connection() as connection:
            await connection.execute(_RELEASE, {"name": lease.name, "holder": lease.holder, "fence": lease.fence})

    async def guard(self, tx: Tx, lease: Lease) -> None:
        """Ensure that the lease is held until `tx` ends: no holder can take the name before its commit or rollback.

        Call it first in the transaction, before any other work. It locks the row FOR KEY SHARE: renewals and other
        guards pass, a takeover waits.

        Raises:
            LeaseLost: the lease has expired or was taken; let the transaction roll back.
        """
        found = await tx.execute(_GUARD, {"name": lease.name, "holder": lease.holder, "fence": lease.fence})
        if await found.fetchone() is None:
            raise LeaseLost(lease)

    async def revoke(self, tx: Tx, name: str) -> None:
        """Take the name from its holder once `tx` commits; waits for guarded transactions of the holder.

        For changes that must not overlap with work under the lease; the holder notices at its next guard or renewal.
        """
        await tx.execute(_MAKE_MISSING, {"names": [name]})
        await tx.execute(_REVOKE, {"name": name})
        await tx.execute(_EXPIRE_REVOKED, {"name": name})
