"""LeaseKeeper on a connection that stays open without a response."""

from __future__ import annotations

import asyncio

import pytest

from classifeed_common.db import Database
from classifeed_common.lease import Lease, LeaseKeeper, Leases
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.recovery import Stopwatch, until
from classifeed_devkit.testing.tcp_proxy import ProxiedDatabase, TcpProxy

pytestmark = pytest.mark.slow


class Holder:
    """A keeper of one name that records the reports about its lease."""

    def __init__(self, db: Database, name: str, ttl_s: float) -> None:
        self.works = False
        self.gained: list[Lease] = []
        self.stop = asyncio.Event()
        self._keeper = LeaseKeeper(Leases(db, name, ttl_s), ["shard"], on_gain=self._gain, on_loss=self._lose)
        self.running = asyncio.create_task(self._keeper.run(self.stop))

    async def _gain(self, lease: Lease) -> None:
        self.works = True
        self.gained.append(lease)

    async def _lose(self, lease: Lease) -> None:
        self.works = False

    async def drain(self) -> None:
        self.stop.set()
        await self.running


async def test_another_holder_takes_over_by_the_ttl_and_the_silent_one_comes_again(
    db: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    silent = Holder(await proxied_database(), "silent", ttl_s=4)
    await until(lambda: silent.works)
    other = Holder(db, "other", ttl_s=4)
    postgres_proxy.silence_existing()
    watch = Stopwatch("lease: another holder")
    await until(lambda: other.works)
    watch.stop()
    await until(lambda: not silent.works)
    assert other.gained[0].fence > silent.gained[0].fence

    await other.drain()
    watch = Stopwatch("lease: the silent holder, once the name is free")
    await until(lambda: silent.works)
    watch.stop()
    await silent.drain()


@in_campaigns
async def test_a_lease_that_lasts_longer_than_the_silence_is_kept(
    db: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    async def expires_after(moment: object) -> bool:
        async with db.connection() as connection:
            query = "SELECT expires_at - interval '60 s' > %s FROM leases WHERE name = 'shard'"
            row = await (await connection.execute(query, [moment])).fetchone()
        return bool(row and row[0])

    holder = Holder(await proxied_database(), "silent", ttl_s=60)
    await until(lambda: holder.works)
    async with db.connection() as connection:
        (silent_since,) = await (await connection.execute("SELECT clock_timestamp()")).fetchone() or (None,)
    postgres_proxy.silence_existing()
    watch = Stopwatch("lease: its renewal")
    await until(lambda: expires_after(silent_since))
    watch.stop()
    assert len(holder.gained) == 1, "it kept its lease, and its fence"
    await holder.drain()


async def test_a_keeper_that_is_stopped_while_its_connection_is_silent_ends(
    db: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    holder = Holder(await proxied_database(), "silent", ttl_s=4)
    await until(lambda: holder.works)
    postgres_proxy.silence_existing()
    watch = Stopwatch("lease: draining")
    async with asyncio.timeout(120):
        await holder.drain()
    watch.stop()
    assert not holder.works
