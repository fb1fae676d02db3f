"""Four ways to notify another service of a change, with the same three crashes: only the mark survives all."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Protocol

import pytest

from classifeed_common.db import Database
from classifeed_common.lease import Leases
from classifeed_common.publish_mark import MarkPusher

from .goods import ADVANCE, PUT, SELECT_DUE, Peer, prices, put


class Crash(Exception):
    """The process crashes here."""


class Way(Protocol):
    def __init__(self, db: Database, peer: Peer) -> None: ...

    async def change(
        self, row_id: str, price: int, *, fails_before_commit: bool = False, dies_after_commit: bool = False
    ) -> None: ...

    async def settle(self) -> None:
        """Do the work of a new process until nothing is left."""


class Mark:
    """The real publish mark."""

    def __init__(self, db: Database, peer: Peer) -> None:
        self.db, self.peer = db, peer

    async def change(
        self, row_id: str, price: int, *, fails_before_commit: bool = False, dies_after_commit: bool = False
    ) -> None:
        async with self.db.transaction() as tx:
            await tx.execute(PUT, [row_id, price])
            if fails_before_commit:
                raise Crash
        if dies_after_commit:
            raise Crash

    async def settle(self) -> None:
        pusher = MarkPusher(
            self.db,
            name="goods",
            select_due=SELECT_DUE,
            advance=ADVANCE,
            push=self.peer.push,
            leases=Leases(self.db, "pusher", 30),
        )
        stop = asyncio.Event()
        running = asyncio.create_task(pusher.run(stop))
        async with asyncio.timeout(60):
            while await pusher.backlog():
                await asyncio.sleep(0.01)
        stop.set()
        await running


class InsideTransaction(Mark):
    """Naive: call the other service before the commit, so that no change is lost."""

    async def change(
        self, row_id: str, price: int, *, fails_before_commit: bool = False, dies_after_commit: bool = False
    ) -> None:
        async with self.db.transaction() as tx:
            rows = await (await tx.execute(PUT, [row_id, price])).fetchall()
            await self.peer.push(rows)
            if fails_before_commit:
                raise Crash
        if dies_after_commit:
            raise Crash

    async def settle(self) -> None: ...


class AfterCommit(Mark):
    """Naive: call the other service right after the commit, so that only committed changes are announced."""

    async def change(
        self, row_id: str, price: int, *, fails_before_commit: bool = False, dies_after_commit: bool = False
    ) -> None:
        async with self.db.transaction() as tx:
            rows = await (await tx.execute(PUT, [row_id, price])).fetchall()
            if fails_before_commit:
                raise Crash
        if dies_after_commit:
            raise Crash
        await self.peer.push(rows)

    async def settle(self) -> None: ...


class DirtyFlag(Mark):
    """Naive: a flag instead of versions: push dirty rows, then clear the flag."""

    async def settle(self) -> None:
        while True:
            async with self.db.connection() as connection:
                rows = await (await connection.execute("SELECT id, price, version FROM goods WHERE dirty")).fetchall()
                if not rows:
                    return
                await self.peer.push(rows)
                await connection.execute(
                    "UPDATE goods SET dirty = false WHERE id = ANY(%s)", [[row[0] for row in rows]]
                )


async def rolled_back(way: Way, db: Database, peer: Peer) -> None:
    with suppress(Crash):
        await way.change("chair", 10, fails_before_commit=True)
    await way.settle()


async def died_after_commit(way: Way, db: Database, peer: Peer) -> None:
    with suppress(Crash):
        await way.change("chair", 10, dies_after_commit=True)
    await way.settle()


async def changed_during_push(way: Way, db: Database, peer: Peer) -> None:
    async def change_again() -> None:
        await way.change("chair", 20)

    await way.change("chair", 10)
    peer.before_response = change_again
    await way.settle()


ACCIDENTS = {accident.__name__: accident for accident in (rolled_back, died_after_commit, changed_during_push)}


async def agrees_after(way: type[Mark], accident: str, db: Database) -> bool:
    peer = Peer()
    await ACCIDENTS[accident](way(db, peer), db, peer)
    return peer.prices() == await prices(db)


@pytest.mark.parametrize("accident", ACCIDENTS)
async def test_the_mark_survives(db: Database, accident: str) -> None:
    assert await agrees_after(Mark, accident, db)


@pytest.mark.parametrize(
    ("way", "accident"),
    [
        (InsideTransaction, "rolled_back"),
        (AfterCommit, "died_after_commit"),
        (DirtyFlag, "changed_during_push"),
    ],
)
async def test_the_naive_way_does_not(db: Database, way: type[Mark], accident: str) -> None:
    assert not await agrees_after(way, accident, db)


async def test_without_an_accident_all_ways_agree(db: Database) -> None:
    for way in (Mark, InsideTransaction, AfterCommit, DirtyFlag):
        peer = Peer()
        await put(db, "chair", 1)
        await way(db, peer).change("chair", 10)
        await way(db, peer).settle()
        assert peer.prices() == {"chair": 10}
