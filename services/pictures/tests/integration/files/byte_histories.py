"""Downloads, copies, deletions and sweeps of a few pictures, interleaved step by step and sometimes killed.

States are those of `domain/lifecycle/lifecycle.py`, rows are in PostgreSQL, and files in memory.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from classifeed.pictures.v1.orders_pb2 import CopyOrder, DeleteOrder
from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.clock import SystemClock
from classifeed_common.db import Database
from classifeed_imaging.model import Decoded, Version
from classifeed_pictures.app.files.copy_picture import copy_picture, delete_picture
from classifeed_pictures.app.files.store_picture import Source, StorePicture
from classifeed_pictures.domain.lifecycle.events import Deletion, Event, Loaded, Request
from classifeed_pictures.domain.lifecycle.lifecycle import Lifecycle
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.lifecycle.orders import Copy, Delete, Download, Order
from classifeed_pictures.domain.lifecycle.states import State
from classifeed_pictures.domain.namespaces import Namespace, SizeRule
from classifeed_pictures.store.files.namespaces import put_namespace
from classifeed_pictures.store.files.stored import find_stored

from ..histories import hash_of
from ..stepping import Killed, Run, SteppedBlobs, SteppedDatabase, begin

_CARD: Final = SizeRule("card", 320, 320, crop=False)
OFFERS: Final = Namespace("offers", (_CARD,), ("jpeg",))
SHOPS: Final = Namespace("shops", (_CARD,), ("jpeg",))
PICTURES: Final = 2
_AT_ONCE: Final = 4
_STEPS: Final = 60
_RULES: Final = LifecycleRules()
_BLOCKED: Final = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@dataclass
class World:
    """Pictures with their states, open orders and running steps."""

    database: Database
    seed: int
    blobs: SteppedBlobs = field(default_factory=SteppedBlobs)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    states: dict[int, State | None] = field(default_factory=dict)
    downloads: list[tuple[int, Download, bytes]] = field(default_factory=list)
    copies: defaultdict[int, deque[Copy | Delete]] = field(default_factory=lambda: defaultdict(deque))
    copying: set[int] = field(default_factory=set)
    runs: list[Run] = field(default_factory=list)
    deaths: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.stepped = cast(Database, SteppedDatabase(self.database))
        self.store = StorePicture(self.stepped, cast(BlobStore, self.blobs), SystemClock())

    async def live(self) -> None:
        """Run a history to its end; the promises are checked at each step."""
        for _ in range(_STEPS):
            self._do_something(is_deadly=True)
            await self._settle()
            await self.check_readable()
        while self.runs or self.downloads or any(self.copies.values()):
            self._do_something(is_deadly=False)
            await self._settle()
            await self.check_readable()
        # If the same bytes are downloaded twice, the slower download may store its files after those of the other were
        # deleted. No row has these files; an audit finds them.
        await BlobRefs().audit(self.database, cast(BlobStore, self.blobs))
        while await BlobRefs().sweep(self.database, cast(BlobStore, self.blobs), grace_s=0):
            pass

    def _do_something(self, *, is_deadly: bool) -> None:
        standing = [run for run in self.runs if run.at]
        if len(self.runs) < _AT_ONCE and (not standing or self.random.random() < 0.5):
            self._begin(is_busy=is_deadly)
        elif standing:
            is_killed = is_deadly and self.random.random() < 0.15
            self.deaths += is_killed
            self.random.choice(standing).resume(is_killed=is_killed)

    def _begin(self, *, is_busy: bool) -> None:
        numbers = [number for number in sorted(self.copies) if self.copies[number] and number not in self.copying]
        match self.random.randrange(6 if is_busy else 3):
            case 0 if self.downloads:
                self._download(*self.downloads.pop(self.random.randrange(len(self.downloads))))
            case 1 if numbers:
                self._copy(self.random.choice(numbers))
            case 2 | 5:
                self._run(self._sweep())
            case 3:
                namespace = self.random.choice((OFFERS, SHOPS)).name
                self.happen(self._number(), Request(namespace, "seller", "1", "u", self.now))
            case 4:
                # Pictures are requested and deleted repeatedly, so that the same files are deleted and stored again.
                self.happen(self._number(), Deletion(self.random.choice(("", "offers", "shops")), self.now))

    async def _sweep(self) -> None:
        if self.random.random() < 0.3:
            await BlobRefs().audit(self.stepped, cast(BlobStore, self.blobs))
        await BlobRefs().sweep(self.stepped, cast(BlobStore, self.blobs), grace_s=0, limit=2)

    def _number(self) -> int:
        return self.random.randrange(PICTURES)

    def happen(self, number: int, event: Event) -> None:
        """Apply an event to a state, and take its orders."""
        self.now += timedelta(milliseconds=1)
        life = Lifecycle(f"u{number}", hash_of(number), self.states.get(number), self.now, _RULES).apply([event])
        self.states[number] = life.state
        for order in life.effects.orders:
            self._take(number, order)

    def _take(self, number: int, order: Order) -> None:
        if isinstance(order, Download):
            # Both pictures sometimes have the same bytes and share their files.
            self.downloads.append((number, order, b"%d" % self.random.randrange(2)))
        else:
            self.copies[number].append(order)

    def _download(self, number: int, order: Download, content: bytes) -> None:
        card = Version("card", "jpeg", 320, 160, b"card of " + content)
        decoded = Decoded("jpeg", 2000, 1000, 1, content, (card,), b"12345678", 0x102030, "L")
        namespace = OFFERS if order.namespace == OFFERS.name else SHOPS
        self._run(
            self.store(Source(hash_of(number)), namespace, decoded, attempt=order.attempt),
            lambda info: self.happen(number, Loaded(order.namespace, order.attempt, info, self.now)),
            lambda: self.downloads.append((number, order, content)),
        )

    def _copy(self, number: int) -> None:
        order = self.copies[number][0]
        self.copying.add(number)

        def end(outcome: Any) -> None:
            self.copies[number].popleft()
            self.copying.discard(number)
            if isinstance(order, Copy):
                assert outcome is not None
                self.happen(number, Loaded(order.namespace, order.attempt, outcome, self.now))

        self._run(self._carry_out(number, order), end, lambda: self.copying.discard(number))

    async def _carry_out(self, number: int, order: Copy | Delete) -> Any:
        async with self.stepped.transaction() as tx:
            if isinstance(order, Delete):
                info = order.info
                delete = DeleteOrder(url_hash=hash_of(number), namespace=info.namespace, attempt=order.attempt)
                delete.group_id, delete.name = info.group_id, info.name
                return await delete_picture(tx, delete)
            copy = CopyOrder(url=f"u{number}", url_hash=hash_of(number), source=order.source)
            copy.namespace, copy.attempt = order.namespace, order.attempt
            return await copy_picture(tx, copy)

    def _run(
        self,
        work: Coroutine[Any, Any, Any],
        ended: Callable[[Any], None] = lambda _: None,
        again: Callable[[], None] = lambda: None,
    ) -> None:
        self.runs.append(begin(work, ended, again))

    async def _settle(self) -> None:
        """Wait until each run pauses at a step, has ended, or waits for another run's lock."""
        async with asyncio.timeout(60):
            while True:
                for _ in range(5):
                    await asyncio.sleep(0)
                    self._end_runs()
                moving = [run for run in self.runs if not run.at]
                if not moving:
                    return
                await asyncio.wait([run.task for run in moving], timeout=0.001)
                self._end_runs()
                moving = [run for run in self.runs if not run.at]
                if moving and await self._count_blocked() >= len(moving):
                    return

    def _end_runs(self) -> None:
        for run in [run for run in self.runs if run.task.done()]:
            self.runs.remove(run)
            try:
                result = run.task.result()
            except Killed:
                run.again()
            else:
                run.ended(result)

    async def _count_blocked(self) -> int:
        async with self.database.connection() as connection:
            [(count,)] = await (await connection.execute(_BLOCKED)).fetchall()
        return int(count)

    def held(self) -> dict[tuple[str, int, str], PictureInfo]:
        """Return the pictures that states hold."""
        return {
            (holding.info.namespace, holding.info.group_id, holding.info.name): holding.info
            for state in self.states.values()
            if state is not None
            for holding in state.holdings.values()
            if holding.info is not None
        }

    async def check_readable(self) -> None:
        """Check that each held picture can be read."""
        if not (held := self.held()):
            return
        async with self.database.transaction() as tx:
            for address in held:
                stored = await find_stored(tx, *address)
                assert stored is not None, f"{address} is held and not stored"
                assert stored.blobs <= self.blobs.files.keys(), f"{address} cannot be read"

    async def check_end(self) -> None:
        """Check that only held pictures are stored, with their files."""
        async with self.database.connection() as connection:
            rows = await (await connection.execute("SELECT namespace, group_id, name FROM stored_pictures")).fetchall()
        assert {tuple(row) for row in rows} == self.held().keys()
        needed = {hashlib.sha256(content).hexdigest() for content in self.blobs.files.values()}
        async with self.database.connection() as connection:
            refs = await (await connection.execute("SELECT sha256 FROM blob_refs")).fetchall()
        assert needed == {sha256 for (sha256,) in refs}


async def prepare_tables(database: Database) -> None:
    """Empty the tables, and create both namespaces."""
    async with database.transaction() as tx:
        await tx.execute("TRUNCATE stored_pictures, blobs, blob_refs")
        for namespace in (OFFERS, SHOPS):
            await put_namespace(tx, namespace)
