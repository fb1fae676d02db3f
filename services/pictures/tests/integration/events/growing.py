"""Requests that continue while the topic of events grows, with a resharder, a processor and a fake downloader."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from classifeed.pictures.v1.orders_pb2 import CopyOrder, DownloadOrder, LoadResult
from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed.pictures.v1.requests_pb2 import PictureRequest, PictureRequests, PictureResults
from classifeed_common.db import Database, Tx
from classifeed_common.kafka import (
    Cluster,
    DeadLetters,
    KafkaProducer,
    OrderedConsumer,
    Record,
    TablePositions,
    message_of,
)
from classifeed_common.outbox import Outbox
from classifeed_devkit.testing.background import running
from classifeed_pictures.consumers.decode_events import decode_event
from classifeed_pictures.consumers.events import EventHandler
from classifeed_pictures.consumers.resharder import Resharder
from classifeed_pictures.domain.lifecycle.events import Request
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.lifecycle.states import name_picture
from classifeed_pictures.domain.urls.canonical import CanonicalRules
from classifeed_pictures.store.states.records import unpack_holdings

NAMESPACES: Final = ("offers", "shops")
_RULES: Final = CanonicalRules.of({"strip_fragment": True, "strip_www": False, "tracking_parameters": []})
_HANDLED: Final = "CREATE TABLE handled (place bigint GENERATED ALWAYS AS IDENTITY, url text, number integer)"
_SELLERS: Final = 7
_A_MESSAGE: Final = 20
_TAKE: Final = "DELETE FROM outbox RETURNING id, headers->>'type', value"


@dataclass
class Instance:
    """Topics and tables of pictures, with the requests and their results.

    Attributes:
        urls: number of URLs.
        sent: number of requests that were sent; the n-th is for URL n modulo `urls`.
        results: name of the picture of each reference.
        may_end: once it is set, requests end.
    """

    bootstrap: str
    database: Database
    producer: KafkaProducer
    cluster: Cluster
    requests: str
    loads: str
    events: str
    urls: int
    sent: int = 0
    results: dict[str, str] = field(default_factory=dict)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def resharders(self) -> str:
        return f"{self.events}-resharders"

    @property
    def processors(self) -> str:
        return f"{self.events}-processors"

    async def make_table(self) -> None:
        async with self.database.transaction() as tx:
            await tx.execute(_HANDLED)

    async def request(self, count: int) -> None:
        """Send the next requests; those of a URL are in one partition, with ascending references."""
        of_seller: defaultdict[str, list[PictureRequest]] = defaultdict(list)
        for number in range(self.sent, self.sent + count):
            url, turn = number % self.urls, number // self.urls
            request = PictureRequest(url=f"http://shop.example/{url}", reference=f"{url}-{turn}")
            request.namespace = NAMESPACES[turn % len(NAMESPACES)]
            request.request_time.GetCurrentTime()
            of_seller[f"seller-{url % _SELLERS}"].append(request)
        self.sent += count
        await self.producer.send([
            message_of(self.requests, seller.encode(), PictureRequests(recipient=seller, requests=part))
            for seller, all_of_it in of_seller.items()
            for part in (all_of_it[at : at + _A_MESSAGE] for at in range(0, len(all_of_it), _A_MESSAGE))
        ])  # fmt: skip

    @asynccontextmanager
    async def resharding(self, partitions: int) -> AsyncIterator[None]:
        """Run a resharder of the release that declares this number of partitions for events."""
        producer = KafkaProducer(self.bootstrap, client_id="resharder")
        await producer.start()
        handler = Resharder(
            producer,
            DeadLetters(producer),
            current_rules=lambda: _RULES,
            events_topic=self.events,
            partitions=partitions,
        )
        async with running(self._consumer(self.resharders, [self.requests, self.loads], handler.handle)):
            yield
        await producer.close()

    def processor(self) -> OrderedConsumer[Tx]:
        """Return a processor that records the handled requests in the order of its commits."""
        handler = EventHandler(Outbox(), LifecycleRules())

        async def handle(tx: Tx, records: Sequence[Record]) -> None:
            happened = [(url, event) for url, _, event in map(decode_event, records) if isinstance(event, Request)]
            async with tx.cursor() as cursor:
                rows = [(url, int(event.reference.partition("-")[2])) for url, event in happened]
                await cursor.executemany("INSERT INTO handled (url, number) VALUES (%s, %s)", rows)
            await handler.handle(tx, records)

        return self._consumer(self.processors, [self.events], handle)

    def _consumer(self, group: str, topics: Sequence[str], handle: Any) -> OrderedConsumer[Tx]:
        return OrderedConsumer(
            bootstrap=self.bootstrap,
            group=group,
            topics=topics,
            positions=TablePositions(self.database),
            handle=handle,
            dead_letters=DeadLetters(self.producer),
            metadata_refresh_s=1,
        )

    async def carry_out(self) -> None:
        """Carry out orders and collect results, until it is canceled."""
        while True:
            async with self.database.transaction() as tx:
                messages = await (await tx.execute(_TAKE)).fetchall()
            loads = []
            for _, kind, value in sorted(messages):
                if kind == PictureResults.DESCRIPTOR.full_name:
                    for result in PictureResults.FromString(value).results:
                        assert result.HasField("info")
                        self.results[result.reference] = result.info.name
                    continue
                order = (DownloadOrder if kind == DownloadOrder.DESCRIPTOR.full_name else CopyOrder).FromString(value)
                loads.append(self._loaded(order))
            await self.producer.send([message_of(self.loads, load.url_hash, load) for load in loads])
            await asyncio.sleep(0.02)

    def _loaded(self, order: DownloadOrder | CopyOrder) -> LoadResult:
        group_id, name = name_picture(order.url_hash, b"content")
        info = PictureInfo(namespace=order.namespace, group_id=group_id, name=name, content_hash=b"content")
        load = LoadResult(url=order.url, url_hash=order.url_hash, namespace=order.namespace, info=info)
        load.attempt = order.attempt
        load.load_time.GetCurrentTime()
        return load

    async def is_read(self, group: str, *topics: str) -> bool:
        """Return whether a group is at the end of the topics."""
        async with self.database.connection() as connection:
            cursor = await connection.execute(
                'SELECT topic, partition, next FROM consumer_offsets WHERE "group" = %s', [group]
            )
            stored = {(topic, at): position for topic, at, position in await cursor.fetchall()}
        counts = {topic: state.partitions for topic, state in (await self.cluster.topics(topics)).items()}
        return await self.cluster.ends([(topic, at) for topic in topics for at in range(counts[topic])]) == stored

    async def states(self) -> dict[str, dict[str, str]]:
        """Return the picture of each URL in each namespace."""
        async with self.database.connection() as connection:
            rows = await (await connection.execute("SELECT url, holdings FROM pictures")).fetchall()
        return {
            url: {namespace: held.info.name for namespace, held in unpack_holdings(packed).items() if held.info}
            for url, packed in rows
        }

    async def handled(self) -> dict[str, list[int]]:
        """Return the numbers of the requests of each URL in the order in which they were handled."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        async with self.database.connection() as connection:
            for url, number in await (
                await connection.execute("SELECT url, number FROM handled ORDER BY place")
            ).fetchall():
                found[url].append(number)
        return found
