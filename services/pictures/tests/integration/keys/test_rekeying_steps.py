"""Keys move although each step is killed before its end and repeated, and each message is delivered twice."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from classifeed.pictures.v1.orders_pb2 import DownloadOrder
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed.pictures.v1.requests_pb2 import PictureRequest, PictureRequests, PictureResults
from classifeed_common.blobs import BlobStore
from classifeed_common.clock import SystemClock
from classifeed_common.db import Database, Tx
from classifeed_common.kafka import DeadLetters, Message, Record, message_of
from classifeed_common.outbox import Outbox
from classifeed_devkit.testing.campaigns import IS_LONG
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_domain.topics import (
    PICTURES_COPIES,
    PICTURES_DOWNLOADS,
    PICTURES_EVENTS,
    PICTURES_LOADS,
    PICTURES_REQUESTS,
    PICTURES_RESULTS,
)
from classifeed_imaging.model import Decoded, Version
from classifeed_jobs import JobStore, Slice
from classifeed_pictures.app.events.report_load import load_message
from classifeed_pictures.app.files.store_picture import Source, StorePicture
from classifeed_pictures.app.states.rekey_states import rekey_states
from classifeed_pictures.consumers.copies import CopyHandler
from classifeed_pictures.consumers.events import EventHandler
from classifeed_pictures.consumers.resharder import Resharder
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.namespaces import Namespace, SizeRule
from classifeed_pictures.domain.urls.canonical import CanonicalRules
from classifeed_pictures.store.files.namespaces import put_namespace
from classifeed_pictures.store.files.stored import find_stored
from classifeed_pictures.store.states.states import get_now

from ..stepping import SteppedBlobs

_OPEN = CanonicalRules.of({"strip_fragment": True, "strip_www": False, "tracking_parameters": []})
_STRICT = CanonicalRules.of({"strip_fragment": True, "strip_www": False, "tracking_parameters": ["ref"]})
_CARD = SizeRule("card", 320, 320, crop=False)
_NAMESPACES = {name: Namespace(name, (_CARD,), ("jpeg",)) for name in ("offers", "shops")}
_INPUTS = (PICTURES_REQUESTS, PICTURES_LOADS)


class Killed(Exception):
    """The process was killed; its transaction is rolled back."""


@dataclass
class Steps:
    """The roles without Kafka: each message is in a list until its step is done."""

    database: Database
    random: random.Random
    rules: CanonicalRules = _OPEN
    outbox: Outbox = field(default_factory=Outbox)
    blobs: SteppedBlobs = field(default_factory=SteppedBlobs)
    topics: dict[str, list[Record]] = field(default_factory=dict)
    downloads: list[str] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)
    results: dict[tuple[str, str, str], list[Any]] = field(default_factory=dict)
    deaths: int = 0

    def __post_init__(self) -> None:
        letters = cast(DeadLetters, None)
        self.resharder = Resharder(self, letters, current_rules=lambda: self.rules)
        self.events = EventHandler(self.outbox, LifecycleRules())
        self.copies = CopyHandler(self.outbox, JobStore())
        self.storer = StorePicture(self.database, cast(BlobStore, self.blobs), SystemClock())

    async def send(self, messages: Sequence[Message], *, limit_s: float | None = None) -> None:
        for each in messages:
            lying = self.topics.setdefault(each.topic, [])
            lying.append(Record(each.topic, 0, len(lying), each.key, each.value, each.headers, 1))

    async def request(self, url: str, namespace: str, reference: str) -> None:
        message = PictureRequests(recipient="seller", requests=[PictureRequest(url=url, namespace=namespace)])
        message.requests[0].reference = reference
        message.requests[0].request_time.GetCurrentTime()
        await self.send([message_of(PICTURES_REQUESTS, b"seller", message)])

    async def step(self, work: Callable[[Tx], Awaitable[Any]], *, is_deadly: bool = True) -> Any:
        """Run a transaction; sometimes it is killed at its end and repeated."""
        if is_deadly and self.random.random() < 0.5:
            with suppress(Killed):
                async with self.database.transaction() as tx:
                    await work(tx)
                    raise Killed
            self.deaths += 1
        async with self.database.transaction() as tx:
            return await work(tx)

    async def run(self, *, until_idle: bool = True) -> None:
        """Process all messages, one record of a random topic at a time."""
        while True:
            await self._relay()
            waiting = [topic for topic, records in self.topics.items() if records]
            if not waiting:
                return
            await self._take(self.topics[self.random.choice(waiting)])
            if not until_idle:
                return

    async def _take(self, records: list[Record]) -> None:
        record = records.pop(0)
        if record.topic in _INPUTS:
            # The resharder stores nothing, so it sends its events again after a kill.
            await self.step(lambda tx: self.resharder.handle(tx, [record]))
        elif record.topic == PICTURES_EVENTS:
            await self.step(lambda tx: self.events.handle(tx, [record]))
        elif record.topic == PICTURES_COPIES:
            await self.step(lambda tx: self.copies.handle(tx, [record]))
        elif record.topic == PICTURES_DOWNLOADS:
            await self._download(DownloadOrder.FromString(record.value))
        else:
            assert record.topic == PICTURES_RESULTS
            for result in PictureResults.FromString(record.value).results:
                self.results.setdefault((result.url, result.namespace, result.reference), []).append(result)

    async def _download(self, order: DownloadOrder) -> None:
        self.downloads.append(order.url)
        outcome: PictureInfo | LoadFailure
        if order.url in self.missing:
            outcome = LoadFailure(code="HTTP_NOT_FOUND", http_status=404)
        else:
            content = order.url.encode()
            card = Version("card", "jpeg", 320, 160, b"card of " + content)
            decoded = Decoded("jpeg", 2000, 1000, 1, content, (card,), b"12345678", 0x102030, "L")
            source = Source(order.url_hash)
            outcome = await self.storer(source, _NAMESPACES[order.namespace], decoded, attempt=order.attempt)
        async with self.database.transaction() as tx:
            await self.outbox.put(tx, [load_message(order, outcome, at=await get_now(tx))])

    async def _relay(self) -> None:
        async with self.database.transaction() as tx:
            cursor = await tx.execute("DELETE FROM outbox RETURNING id, topic, key, value, headers")
            rows = sorted(await cursor.fetchall(), key=lambda row: row[0])
        for _, topic, key, value, headers in rows:
            names = {name: text.encode() for name, text in headers.items()}
            again = 1 + (topic in _INPUTS and self.random.random() < 0.3)  # a killed relay sends again
            await self.send([Message(topic, key, value, names)] * again)

    async def rekey(self) -> bool:
        """Make a pass; return whether it was the last one."""
        cursor = None

        async def do_slice(tx: Tx) -> Slice:
            options: dict[str, Any] = {"limit": 2, "settle_s": 0, "order_timeout_s": 3600}
            return await rekey_states(tx, cursor, self.rules, outbox=self.outbox, **options)

        while (cursor := (await self.step(do_slice)).next) is not None:
            pass
        found = await self.rows("SELECT rekeyed_at IS NOT NULL FROM canonical_rules ORDER BY rules_id DESC LIMIT 1")
        return found == [(True,)]

    async def rows(self, query: str) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            return await (await connection.execute(query)).fetchall()

    async def check_address(self, info: PictureInfo) -> None:
        async with self.database.transaction() as tx:
            stored = await find_stored(tx, info.namespace, info.group_id, info.name)
            assert stored is not None, f"{info.namespace}/{info.name} was given out, and is gone"
            assert stored.blobs <= self.blobs.files.keys()
            refs = await (
                await tx.execute("SELECT sha256 FROM blob_refs WHERE ref = %s", [stored.reference])
            ).fetchall()
        assert {sha256 for (sha256,) in refs} == stored.blobs


@pytest.fixture
async def database(migrated_database: MigratedDatabase) -> Database:
    made = await migrated_database("classifeed_pictures")
    async with made.transaction() as tx:
        for namespace in _NAMESPACES.values():
            await put_namespace(tx, namespace)
    return made


@pytest.mark.parametrize("seed", range(4 if IS_LONG else 1))
async def test_nothing_is_lost_whatever_dies(database: Database, seed: int) -> None:
    steps = Steps(database, random.Random(seed))
    links = [f"https://shop.example/{number}.jpg?ref={ref}" for number in range(3) for ref in "ab"]
    missing = "https://shop.example/missing.jpg?ref=a"
    steps.missing |= {missing}
    wanted = set()
    for url in [*links, missing]:
        for namespace in _NAMESPACES:
            await steps.request(url, namespace, "before")
            wanted.add((url, namespace, "before"))
    await steps.run()
    given = [found[-1].info for found in steps.results.values() if found[-1].HasField("info")]
    assert len(given) == len(links) * len(_NAMESPACES)
    assert sorted(steps.downloads) == sorted({*links, missing})
    # These wait while the rules change: one is in its shard, the other is not read yet.
    await steps.request("https://shop.example/7.jpg?ref=a", "offers", "meanwhile")
    await steps.run(until_idle=False)
    await steps.request("https://shop.example/8.jpg?ref=a", "shops", "meanwhile")
    wanted |= {(f"https://shop.example/{n}.jpg?ref=a", s, "meanwhile") for n, s in ((7, "offers"), (8, "shops"))}

    steps.rules = _STRICT
    passes = 0
    while not await steps.rekey():
        passes += 1
        assert passes < 30
        if passes % 4 == 0:
            await steps.run()
        for _ in range(steps.random.randrange(40)):
            await steps.run(until_idle=False)
        for info in given:
            await steps.check_address(info)
    await steps.run()

    assert steps.deaths > 20
    keys = {url for (url,) in await steps.rows("SELECT url FROM pictures")}
    assert keys == {f"https://shop.example/{name}.jpg" for name in ("0", "1", "2", "7", "8", "missing")}
    assert await steps.rows("SELECT count(*) FROM requests_in_flight") == [(0,)]
    assert steps.results.keys() == wanted
    assert all(found[-1].HasField("info") for found in steps.results.values())
    for found in steps.results.values():
        await steps.check_address(found[-1].info)
    assert len(steps.downloads) == len({*links, missing}) + 3, "those of the requests that waited, and no other"
    held = await steps.rows(
        "SELECT p.url, s.namespace FROM stored_pictures s JOIN pictures p USING (url_hash) WHERE NOT s.is_alias"
    )
    assert {place for place in held if place[0][-5] in "012"} == {
        (f"https://shop.example/{number}.jpg", namespace) for number in range(3) for namespace in _NAMESPACES
    }
    assert len(held) == len(set(held)), "each once"
