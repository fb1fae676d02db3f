"""Lease and Leases: take, renew, release, and the guard that keeps a late holder from writing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from classifeed_common.db import Database, Tx, load_queries

_QUERIES = load_queries("classifeed_common.lease")
_MAKE_MISSING, _ACQUIRE, _RENEW = _QUERIES["make_missing"], _QUERIES["acquire"], _QUERIES["renew"]
_RELEASE, _GUARD = _QUERIES["release"], _QUERIES["guard"]
_REVOKE, _EXPIRE_REVOKED = _QUERIES["revoke"], _QUERIES["expire_revoked"]


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work for a name, until it expires by the database's clock.

    Attributes:
        name: what it is for.
        holder: who has it; unique per process (`ids.process_holder`).
        fence: grows with each acquisition of the name, and is at least the database's clock in µs at that time, so
            that it also grows across a restore of the table; what a late holder did carries a smaller one.
    """

    name: str
    holder: str
    fence: int


class LeaseLost(Exception):
    """The lease has expired, or another one holds the name: give up this work, its effects are rolled back."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(f"lease {lease.name} (fence {lease.fence}) is no longer held by {lease.holder}")
        self.lease = lease


class Leases:
    """The leases of one holder, in the table `leases` of a service's schema.

    Expiry is decided by the database's clock alone, so that processes need not agree on the time. Holds no state: what
    was acquired is known to the caller only.

    Args:
        database: the database with the table (`ddl("leases", 1)`).
        holder: who acquires; unique per process (`ids.process_holder`).
        ttl_s: how long an acquisition or renewal lasts; renew at a third of it.
    """

    def __init__(self, database: Database, holder: str, ttl_s: float) -> None:
        if not holder or ttl_s <= 0:
            raise ValueError(f"a lease needs a holder and a ttl above 0, not {holder!r} and {ttl_s}")
        self.database = database
        self.holder = holder
        self.ttl_s = ttl_s

    async def acquire(self, name: str) -> Lease | None:
        """Return the lease, or None while another holder has it or a guarded transaction under it still runs.

        Does not wait. Not reentrant: a holder that has the lease gets None as well.
        """
        acquired = await self.acquire_some([name], 1)
        return acquired[0] if acquired else None

    async def acquire_some(self, names: Sequence[str], count: int) -> list[Lease]:
        """At most `count` leases out of `names`, those that are free now; like `acquire`."""
        async with self.database.transaction(timeout_s=self.ttl_s) as tx:
            return await self.acquire_in(tx, names, count)

    async def acquire_in(self, tx: Tx, names: Sequence[str], count: int) -> list[Lease]:
        """`acquire_some` inside a transaction of the caller; nothing is held unless it commits."""
        if count <= 0:
            return []
        await tx.execute(_MAKE_MISSING, {"names": list(names)})
        values = {"names": list(names), "count": count, "holder": self.holder, "ttl_s": self.ttl_s}
        rows = await (await tx.execute(_ACQUIRE, values)).fetchall()
        return [Lease(name, self.holder, fence) for name, fence in rows]

    async def renew(self, leases: Collection[Lease]) -> set[str]:
        """Make the leases last another `ttl_s`, in one UPDATE; returns the names still held. Idempotent.

        Never waits for guarded transactions. What is missing from the result is lost for good.
        """
        async with self.database.transaction(timeout_s=self.ttl_s) as tx:
            return await self.renew_in(tx, leases)

    async def renew_in(self, tx: Tx, leases: Collection[Lease]) -> set[str]:
        """`renew` inside a transaction of the caller."""
        values = {
            "names": [lease.name for lease in leases],
            "holders": [lease.holder for lease in leases],
            "fences": [lease.fence for lease in leases],
            "ttl_s": self.ttl_s,
        }
        return {name for (name,) in await (await tx.execute(_RENEW, values)).fetchall()}

    async def release(self, lease: Lease) -> None:
        """Let another one take the name at once; nothing happens when the lease is lost already. Idempotent."""
        async with self.database.connection() as connection:
            await connection.execute(_RELEASE, {"name": lease.name, "holder": lease.holder, "fence": lease.fence})

    async def guard(self, tx: Tx, lease: Lease) -> None:
        """Make sure that the lease is held until `tx` ends: nobody takes the name before its commit or rollback.

        First in the transaction, so that nothing is done in vain. The row is locked FOR KEY SHARE: renewals and other
        guards pass, a take-over does not.

        Raises:
            LeaseLost: it has expired or was taken; let the transaction roll back.
        """
        found = await tx.execute(_GUARD, {"name": lease.name, "holder": lease.holder, "fence": lease.fence})
        if await found.fetchone() is None:
            raise LeaseLost(lease)

    async def revoke(self, tx: Tx, name: str) -> None:
        """Take the name from whoever has it, once `tx` commits; waits for guarded transactions under it.

        For a change that work in flight must not run across; the holder notices at its next guard or renewal.
        """
        await tx.execute(_MAKE_MISSING, {"names": [name]})
        await tx.execute(_REVOKE, {"name": name})
        await tx.execute(_EXPIRE_REVOKED, {"name": name})
