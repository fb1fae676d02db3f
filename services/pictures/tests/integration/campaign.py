"""A client that requests pictures from processes that are killed, and checks the outcomes."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import psycopg
from confluent_kafka import Consumer, TopicPartition

from classifeed.pictures.v1.events_pb2 import DELETE_REASON_REQUESTED, DeletePicture
from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed.pictures.v1.requests_pb2 import (
    PictureNotice,
    PictureNotices,
    PictureRequest,
    PictureRequests,
    PictureResult,
    PictureResults,
)
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Database
from classifeed_common.errors import Unavailable
from classifeed_common.kafka import Cluster, KafkaProducer, message_of
from classifeed_devkit.testing.recovery import until
from classifeed_domain.topics import PICTURES_EVENTS, PICTURES_REQUESTS, PICTURES_RESULTS
from classifeed_pictures.domain.lifecycle.recipients import OFFERS
from classifeed_pictures.store.files.stored import find_stored
from classifeed_pictures.store.states.records import unpack_holdings

from .conftest import is_read
from .fleet import Fleet

_ON_THEIR_WAY = {
    "in flight": "SELECT count(*), count(DISTINCT url_hash) FROM requests_in_flight",
    "outbox": "SELECT count(*) FROM outbox",
    "jobs": "SELECT queue, status, waits_for, count(*), max(attempt), max(error) FROM dl_jobs GROUP BY 1, 2, 3",
    "pictures": "SELECT count(*), min(next_attempt_at) - now(), max(attempt) FROM pictures WHERE NOT is_put",
    "hosts": "SELECT * FROM fetch_hosts",
}
A_MESSAGE = 2  # many messages, so that many polls are running when processes are killed


@dataclass
class Campaign:
    """A client of the service's topics, with its tables and files."""

    database: Database
    blobs: BlobStore
    producer: KafkaProducer
    cluster: Cluster
    reader: Consumer
    fleet: Fleet
    recipient: str = field(default_factory=lambda: f"seller-{uuid4().hex}")
    results: list[PictureResult] = field(default_factory=list)
    deletions: set[tuple[str, str]] = field(default_factory=set)

    async def request(
        self,
        wanted: Mapping[str, tuple[str, str]],
        *,
        recipient: str = "",
        client: str = "",
        in_a_message: int = A_MESSAGE,
    ) -> None:
        """Request pictures, given by reference as URL and namespace."""
        recipient = recipient or self.recipient
        requests = []
        for reference, (url, namespace) in wanted.items():
            requests.append(PictureRequest(url=url, namespace=namespace, reference=reference))
            requests[-1].request_time.GetCurrentTime()
        parts = [requests[at : at + in_a_message] for at in range(0, len(requests), in_a_message)]
        messages = [PictureRequests(recipient=recipient, requests=part, client=client) for part in parts]
        await self.producer.send([message_of(PICTURES_REQUESTS, recipient.encode(), each) for each in messages])

    async def request_and_delete(self, url: str, namespaces: Sequence[str]) -> None:
        """Request a picture and request its deletion at once; either may be processed first."""
        await self.request({namespace: (url, namespace) for namespace in namespaces}, recipient="nobody-waits")
        notice = PictureNotice(url=url, delete_picture=DeletePicture(reason=DELETE_REASON_REQUESTED))
        notice.notice_time.GetCurrentTime()
        await self.producer.send([message_of(PICTURES_REQUESTS, url.encode(), PictureNotices(notices=[notice]))])

    async def request_unused(self, wanted: Mapping[str, tuple[str, str]]) -> None:
        """Request pictures that no offer uses, for two recipients of offers; comparisons delete them."""
        for number in (1, 2):
            await self.request(wanted, recipient=f"{self.recipient}/{number}", client=OFFERS)

    async def wait_for_deletions(self, wanted: Collection[str], *, within_s: float) -> None:
        """Wait until both recipients of each unused picture have received the deletion."""
        expected = {(f"{self.recipient}/{number}", reference) for reference in wanted for number in (1, 2)}

        async def have_all() -> bool:
            await self._receive()
            return self.deletions >= expected

        with suppress(TimeoutError):
            await until(have_all, within_s=within_s)
        missing = expected - self.deletions
        assert not missing, f"recipients without the deletion: {missing}: {await self._describe()}"

    async def wait_for(self, wanted: Collection[str], *, within_s: float) -> None:
        """Wait until each reference has its picture."""
        missing: set[str] = set()

        async def has_all() -> bool:
            await self._receive()
            missing.clear()
            missing.update(set(wanted) - {each.reference for each in self.results if each.HasField("info")})
            return not missing

        with suppress(TimeoutError):
            await until(has_all, within_s=within_s)
        assert not missing, f"{len(missing)} of {len(wanted)} requests are without a picture: {await self._describe()}"

    async def _receive(self) -> None:
        self.results += await asyncio.to_thread(self._take)

    def _take(self) -> list[PictureResult]:
        results: list[PictureResult] = []
        for record in self.reader.consume(500, timeout=0.1):
            message = PictureResults.FromString(record.value() or b"")
            if message.recipient == self.recipient:
                results += message.results
            elif message.recipient.startswith(f"{self.recipient}/"):
                deleted = (each for each in message.results if each.failure.code == "PICTURE_DELETED")
                self.deletions.update((message.recipient, each.reference) for each in deleted)
        return results

    async def _describe(self) -> str:
        """Return the state of all requests, to find out why they make no progress."""
        failures = Counter(each.failure.code for each in self.results if not each.HasField("info"))
        async with self.database.dedicated_connection() as tx:  # a pooled connection fails once after a restart
            found = {name: await (await tx.execute(query)).fetchall() for name, query in _ON_THEIR_WAY.items()}
            query = """SELECT "group", topic, partition, next FROM consumer_offsets"""
            positions = await (await tx.execute(query)).fetchall()
        ends = await self.cluster.ends([(topic, partition) for _, topic, partition, _ in positions])
        unread = [row for row in positions if ends[row[1], row[2]] != row[3]]
        places = [TopicPartition(PICTURES_RESULTS, each.partition) for each in self.reader.assignment()]
        read = {each.partition: each.offset for each in self.reader.position(places)}
        sent = await self.cluster.ends([(PICTURES_RESULTS, partition) for partition in read])
        not_received = {at: (read[at], end) for (_, at), end in sent.items() if read[at] != end}
        states = self.fleet.states()
        return f"{failures=} {found=} {unread=} results that are {not_received=} {states=}"

    async def is_quiet(self) -> bool:
        """Return whether all messages are read, processed and sent."""
        await self._receive()
        busy = (
            "SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM requests_in_flight) + (SELECT count(*) "
            "FROM dl_jobs WHERE queue IN ('pictures.download', 'pictures.resize'))"
        )
        return await self._is_read() and await self.rows(busy) == [(0,)] and await self._is_read()

    async def _is_read(self) -> bool:
        return await is_read(self.database, self.cluster)

    async def count_events(self) -> int:
        """Return how many events were ever sent."""
        rows = await self.rows(f"SELECT partition FROM consumer_offsets WHERE topic = '{PICTURES_EVENTS}'")
        return sum((await self.cluster.ends([(PICTURES_EVENTS, partition) for (partition,) in rows])).values())

    async def sweep(self) -> None:
        """Delete all files without a reference, without a grace time."""
        refs = BlobRefs()
        await refs.audit(self.database, self.blobs)
        while await refs.sweep(self.database, self.blobs, grace_s=0):
            pass

    async def check_pictures(self) -> None:
        """Check that held pictures can be read, that no others are stored, and that no file is left over."""
        held = await self._held()
        for info in held.values():
            await self._check_readable(info)
        stored = {tuple(row) for row in await self.rows("SELECT namespace, group_id, name FROM stored_pictures")}
        assert stored == held.keys()
        await self.sweep()
        referred = {sha256 for (sha256,) in await self.rows("SELECT sha256 FROM blob_refs")}
        assert set(await self.blobs.list_own()) == referred

    async def _held(self) -> dict[tuple[str, int, str], PictureInfo]:
        rows = await self.rows("SELECT holdings FROM pictures")
        holdings = [holding for (packed,) in rows for holding in unpack_holdings(packed).values()]
        infos = [holding.info for holding in holdings if holding.info is not None]
        return {(info.namespace, info.group_id, info.name): info for info in infos}

    async def _check_readable(self, info: PictureInfo) -> None:
        async with self.database.transaction() as tx:
            stored = await find_stored(tx, info.namespace, info.group_id, info.name)
        assert stored is not None
        assert len(await self.blobs.get_bytes(stored.original)) == info.size_bytes
        for piece in stored.pieces:
            assert await self.blobs.get_piece(piece.blob, piece.at)

    async def rows(self, query: str) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            return await (await connection.execute(query)).fetchall()


@asynccontextmanager
async def sweeping(campaign: Campaign) -> AsyncIterator[None]:
    """Sweep continuously without a grace time, and let killed or stopped processes lose their jobs."""

    async def sweep() -> None:
        while True:
            began_s = time.monotonic()
            with suppress(psycopg.OperationalError, Unavailable):  # its server was killed; the next sweep continues
                await campaign.sweep()
                await campaign.fleet.lose_leases()
            await asyncio.sleep(max(0.05, time.monotonic() - began_s))  # half of the time, since others need the cores

    async with asyncio.TaskGroup() as group:
        sweeps = group.create_task(sweep())
        yield
        sweeps.cancel()
