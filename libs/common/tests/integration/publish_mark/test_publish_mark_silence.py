"""MarkPusher on connections that stay open without a response."""

from __future__ import annotations

import asyncio

import pytest

from classifeed_common.db import Database
from classifeed_common.lease import Leases
from classifeed_common.publish_mark import MarkPusher
from classifeed_devkit.testing.recovery import Stopwatch, until
from classifeed_devkit.testing.tcp_proxy import ProxiedDatabase, TcpProxy

from .goods import ADVANCE, SELECT_DUE, Peer, put

pytestmark = pytest.mark.slow


async def test_rows_are_pushed_and_marked_after_a_silence(
    db: Database, proxied_database: ProxiedDatabase, postgres_proxy: TcpProxy
) -> None:
    proxied = await proxied_database()
    peer = Peer()
    pusher = MarkPusher(
        proxied,
        name="goods",
        select_due=SELECT_DUE,
        advance=ADVANCE,
        push=peer.push,
        leases=Leases(proxied, "silent", 20),
        max_idle_s=0.2,
    )
    stop = asyncio.Event()
    running = asyncio.create_task(pusher.run(stop))
    await put(db, "a", 1)
    await until(lambda: peer.prices() == {"a": 1})

    async def fall_silent() -> None:  # between the push and its mark
        postgres_proxy.silence_existing()

    peer.before_response = fall_silent
    await put(db, "a", 2)
    await until(lambda: peer.before_response is None)
    watch = Stopwatch("publish mark")
    await put(db, "b", 1)
    await until(lambda: peer.prices() == {"a": 2, "b": 1})
    await until(lambda: is_marked(db))
    watch.stop()
    stop.set()
    await running


async def is_marked(db: Database) -> bool:
    async with db.connection() as connection:
        due = await connection.execute("SELECT FROM goods WHERE version > published_version")
        return due.rowcount == 0
