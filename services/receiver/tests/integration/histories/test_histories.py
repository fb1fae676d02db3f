"""Random histories of pushes and interfering events, compared with a simple model.

Concurrent writers, repetitions, invalid documents, expiry, trimming, new epochs, restarts, restored backups. After each
step, registry, queues and responses must equal the model. At the end, a reader that has followed the queues must have
the stored version of each document.
"""

from __future__ import annotations

import asyncio
import copy
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import grpc.aio
import pytest

from classifeed.documents.v1 import index_queue_service_pb2 as queue_pb
from classifeed.documents.v1 import receiver_service_pb2 as pb
from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE, RawDocument
from classifeed.documents.v1.index_queue_service_pb2_grpc import IndexQueueServiceStub
from classifeed.documents.v1.receiver_service_pb2_grpc import ReceiverServiceStub
from classifeed_common.db import Database
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns
from classifeed_devkit.testing.databases import TableBackup
from classifeed_devkit.testing.locks import comes_to_wait
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_receiver.app.upkeep.expire_documents import DocumentExpirer
from classifeed_receiver.app.upkeep.trim_queues import QueueTrimmer
from classifeed_receiver.domain.schemas import EpochState
from classifeed_receiver.store.compression import decompress

from ...conftest import Build, Receiver
from .model import (
    FAULTS,
    FORMS,
    LIMIT_BYTES,
    PAST,
    ClientModel,
    Document,
    Element,
    Freshness,
    Outcome,
    Row,
    check_race,
    shard_number,
)
from .naive_ways import NAIVE_WAYS

_HISTORIES = 400 if IS_LONG else 6
_STEPS = 40
_KEYS = [pk for pk in (f"k{number}" for number in range(1000)) if shard_number(pk) < 3][:8]  # three shards
_TABLES = ("schemas", "documents", "shards", "elements", "failures", "progress")
_MAIN = queue_pb.INDEX_QUEUE_MAIN
_CONFLICT = "CONFLICT: "
Batch = tuple[str, list[Document]]
"""Client and documents."""


@dataclass
class Replica:
    """A process of the receiver, with a separate pool."""

    receiver: Receiver
    pushes: ReceiverServiceStub
    queues: IndexQueueServiceStub


@dataclass
class Follower:
    """A reader of a client's queues.

    Attributes:
        cursors: cursors by shard, at the last read element.
        seen: last document of each key.
    """

    cursors: dict[int, int] = field(default_factory=dict)
    seen: dict[str, RawDocument] = field(default_factory=dict)


@dataclass
class World:
    """A database with replicas, models and readers.

    Attributes:
        highest: highest index of each shard ever, even before a restored backup.
        acknowledged: all positions that each client has received.
    """

    random: Random
    replicas: list[Replica]
    start: Callable[[], Awaitable[Replica]]
    build: Build
    models: dict[str, ClientModel]
    highest: defaultdict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    acknowledged: defaultdict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    followers: dict[str, Follower] = field(default_factory=dict)
    backup: dict[str, ClientModel] | None = None
    last: Batch | None = None

    @property
    def database(self) -> Database:
        return self.replicas[0].receiver.database

    # Documents to push.

    def draw(self, client: str, pks: Sequence[str] = _KEYS) -> Document:
        """Return a document with a higher, equal or lower version than the stored one."""
        random, model = self.random, self.models[client]
        pk = random.choice(pks)
        row = model.rows.get(pk)
        version = max(1, (row.freshness.version if row else 3) + random.choice((-2, -1, 0, 0, 1, 1, 2, 3)))
        at = PAST + timedelta(seconds=random.randrange(2))
        epoch = model.active + random.choices((-1, 0, 1), (1, 30, 1))[0]
        title = random.choice(("", "диван", "стул", "стол"))
        fault = random.choice(FAULTS) if title and random.random() < 0.12 else ""
        ttl_s = random.choice((None, None, 60, 10**9)) if title else None
        form = random.choice(FORMS)
        return Document(pk, Freshness(max(1, epoch), version, at), title, random.choice((1.5, 2.0)), form, fault, ttl_s)

    def draw_valid(self, client: str, pks: Sequence[str] = _KEYS) -> Document:
        """Return a document that passes the checks before the registry."""
        document = self.draw(client, pks)
        freshness = document.freshness._replace(epoch=self.models[client].active)
        return replace(document, freshness=freshness, fault="")

    def batch(self, client: str = "", size: int = 6) -> Batch:
        client = client or self.random.choice([*self.models])
        return client, [self.draw(client) for _ in range(self.random.randint(1, size))]

    async def push(self, batch: Batch, known: Iterable[tuple[int, int]] = ()) -> list[Outcome]:
        """Push a batch, and check the positions in the response."""
        client, documents = batch
        request = pb.PushBatchRequest(
            client=client,
            documents=[document.message for document in documents],
            known_positions=[pb.ShardPosition(shard=shard, idx=idx) for shard, idx in known],
        )
        response = await self.random.choice(self.replicas).pushes.PushBatch(request)
        return self.outcomes(client, response)

    def outcomes(self, client: str, response: pb.PushBatchResponse) -> list[Outcome]:
        self.acknowledged[client] += [(position.shard, position.idx) for position in response.positions]
        return [outcome_of(result) for result in response.results]

    # Steps: each does something, does the same in the model, and compares.

    async def push_one(self) -> None:
        """Push a batch, sometimes the last one again, sometimes with positions that were acknowledged before."""
        batch = self.last if self.last and self.random.random() < 0.2 else self.batch()
        client, documents = self.last = batch
        told = self.acknowledged[client]
        known = self.random.sample(told, min(len(told), self.random.randrange(3)))
        model = self.models[client]
        lost = [position for position in known if not model.has(*position)]
        if lost:
            with pytest.raises(grpc.aio.AioRpcError) as raised:
                await self.push(batch, known)
            assert from_rpc_error(raised.value).reason == "REGISTRY_WENT_BACK"
            await self.compare({})
            return
        before = len(told)
        outcomes = await self.push(batch, known)
        expected, written = model.push(documents)
        assert outcomes == expected
        found = await self.compare({client: [(each.pk, each.freshness) for each in written]})
        newest = {shard: element.idx for shard, element in sorted(found.get(client, []))}
        assert told[before:] == sorted(newest.items())

    async def push_at_once(self) -> None:
        """Let several writers push concurrently, some by a stream."""
        batches = [self.batch(size=4) for _ in range(self.random.randint(2, 5))]
        client, first = self.batch()
        stream = [first, *[self.batch(client)[1] for _ in range(2)]]

        async def requests() -> AsyncIterator[pb.PushBatchRequest]:
            for documents in stream:
                yield pb.PushBatchRequest(client=client, documents=[document.message for document in documents])

        async def push_stream() -> list[list[Outcome]]:
            pushes = self.random.choice(self.replicas).pushes
            return [self.outcomes(client, response) async for response in pushes.PushStream(requests())]

        async with asyncio.TaskGroup() as group:
            streaming = group.create_task(push_stream())
            pushing = [group.create_task(self.push(batch)) for batch in batches]
        pushed = [task.result() for task in pushing]
        await self.compare_race(
            [(client, documents, outcomes) for documents, outcomes in zip(stream, streaming.result(), strict=True)]
            + [(*batch, outcomes) for batch, outcomes in zip(batches, pushed, strict=True)]
        )

    async def push_behind_another(self) -> None:
        """Let a push wait for a row while another push of the same shard overtakes it and is read."""
        held = self.draw_held()
        if held is None:
            return
        client, pk = held
        model = self.models[client]
        first = [self.draw_valid(client, [pk]), *[self.draw_valid(client) for _ in range(2)]]
        keys = {document.pk for document in first}
        others = [other for other in _KEYS if other not in keys]
        same_shard = [other for other in others if shard_number(other) in {shard_number(key) for key in keys}]
        second = [self.draw_valid(client, same_shard or others) for _ in range(2)]
        async with self.holding(client, pk) as waits:
            late = asyncio.create_task(self.push((client, first)))
            await waits(late)
            outcomes = await self.push((client, second))
            expected, written = model.push(second)
            assert outcomes == expected
            await self.compare({client: [(each.pk, each.freshness) for each in written]})
            await self.follow(client)
        expected, written = model.push(first)
        assert await late == expected
        await self.compare({client: [(each.pk, each.freshness) for each in written]})

    async def restart(self) -> None:
        """Start other replicas; a transaction in progress is lost with the old ones, and pushed again."""
        held = self.draw_held()
        if held is not None:
            client, pk = held
            batch = client, [self.draw_valid(client, [pk])]
            async with self.holding(client, pk) as waits:
                lost = asyncio.create_task(self.push(batch))
                await waits(lost)
                await self.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
                )
                assert await lost == [Outcome("RETRY")]
        old, self.replicas = self.replicas, [await self.start(), await self.start()]
        for replica in old:
            await replica.receiver.push_documents.stop()
            await replica.receiver.database.close()
        await self.compare({})
        if held is not None:
            await self.compare_race([(*batch, await self.push(batch))])

    async def expire(self) -> None:
        expirer = DocumentExpirer(self.database, documents=3, tombstone_age_s=3600)
        while await expirer.expire_once():
            pass
        await self.compare({client: model.expire(datetime.now(UTC)) for client, model in self.models.items()})

    async def forget_tombstones(self) -> None:
        expirer = DocumentExpirer(self.database, documents=1000, tombstone_age_s=0)
        expired = {client: model.expire(datetime.now(UTC)) for client, model in self.models.items()}
        await expirer.expire_once()
        for model in self.models.values():
            model.forget_tombstones()
        await self.compare(expired)

    async def trim(self) -> None:
        """Report the progress of the reader, and trim."""
        for client, follower in self.followers.items():
            await self.follow(client)
            cursors = [queue_pb.QueueCursor(queue=_MAIN, shard=n, idx=idx) for n, idx in follower.cursors.items()]
            if cursors:
                report = queue_pb.ReportProgressRequest(group="search", client=client, cursors=cursors)
                await self.replicas[0].queues.ReportProgress(report)
            self.models[client].trim(follower.cursors)
        trimmer = QueueTrimmer(self.database, elements=1000, group_lifetime_s=3600, failed_age_s=3600)
        await trimmer.trim_once()
        await self.compare({})

    async def begin_epoch(self) -> None:
        client = self.random.choice([*self.models])
        model = self.models[client]
        model.active += 1
        schema = self.build.schema(model.active, client=client)
        await self.replicas[0].receiver.put_epoch(schema, EpochState.ACTIVE)

    async def back_up(self) -> None:
        await self.execute(f"DROP TABLE IF EXISTS {', '.join(f'backup_{table}' for table in _TABLES)}")
        await TableBackup(self.database, *_TABLES).take()
        self.backup = copy.deepcopy(self.models)

    async def restore(self) -> None:
        """Restore the last backup. The reader scans the registry, because its cursors are lost."""
        if self.backup is None:
            return
        for client in self.models:
            await self.follow(client)
        await TableBackup(self.database, *_TABLES).restore()
        self.models = copy.deepcopy(self.backup)
        for client, model in self.models.items():
            old = self.followers[client]
            if not all(model.has(*cursor) for cursor in old.cursors.items()):
                with pytest.raises(grpc.aio.AioRpcError) as raised:
                    await self.read(client)
                assert from_rpc_error(raised.value).reason in ("CURSOR_UNKNOWN", "CURSOR_TRIMMED")
            seen = {pk: RawDocument.FromString(row.content) for pk, row in model.rows.items()}
            ends = {number: shard.last_idx for number, shard in model.shards.items()}
            self.followers[client] = Follower(ends, seen)
        await self.compare({})

    # Comparisons with the model.

    async def compare(self, appended: dict[str, list[tuple[str, Freshness]]]) -> dict[str, list[tuple[int, Element]]]:
        """Check the tables with these new elements; return the elements by client, with their shards."""
        found = await self.take_over_elements()
        news = {client: sorted((each.pk, each.freshness) for _, each in each_of) for client, each_of in found.items()}
        assert news == {client: sorted(elements) for client, elements in appended.items() if elements}
        await self.compare_tables()
        return found

    async def compare_race(self, pushes: Iterable[tuple[str, list[Document], list[Outcome]]]) -> None:
        """Check the outcomes of concurrent pushes."""
        valid: defaultdict[tuple[str, str], list[tuple[Document, Outcome]]] = defaultdict(list)
        for client, documents, outcomes in pushes:
            for document, outcome in zip(documents, outcomes, strict=True):
                refusal = self.models[client].refusal(document)
                if refusal is None:
                    valid[client, document.pk].append((document, outcome))
                else:
                    assert outcome == refusal
        stored = await self.stored()
        found = await self.take_over_elements()
        for (client, pk), pushed in valid.items():
            elements = sorted(element for _, element in found.get(client, []) if element.pk == pk)
            model, after = self.models[client], stored[client][pk]
            check_race(model, after, pk, [element.freshness for element in elements], pushed)
            if elements:
                [*documents] = [document for document, _ in pushed if Row.of(document) == after]
                assert documents, f"{pk}: nobody has pushed {after}"
                model.rows[pk] = after
        assert {(client, each.pk) for client, of in found.items() for _, each in of} <= valid.keys()
        await self.compare_tables()

    async def take_over_elements(self) -> dict[str, list[tuple[int, Element]]]:
        """Append new elements of the queues to the model; they must be above all earlier elements."""
        found: defaultdict[str, list[tuple[int, Element]]] = defaultdict(list)
        for client, shard, element in await self.elements():
            known = self.models[client].shards.get(shard)
            if known is None or element not in known.elements:
                found[client].append((shard, element))
        for client, elements in found.items():
            self.models[client].append(elements, self.highest[client])
        return dict(found)

    async def compare_tables(self) -> None:
        assert await self.stored() == {client: model.rows for client, model in self.models.items()}
        expected = {
            (client, number, element)
            for client, model in self.models.items()
            for number, shard in model.shards.items()
            for element in shard.elements
        }
        assert set(await self.elements()) == expected
        ends = {(client, shard): ends for client, shard, *ends in await self.execute(_ENDS, [[*self.models]])}
        assert ends == {
            (client, number): [shard.last_idx, shard.trimmed_idx]
            for client, model in self.models.items()
            for number, shard in model.shards.items()
        }

    async def elements(self) -> list[tuple[str, int, Element]]:
        rows = await self.execute(_ELEMENTS, [[*self.models]])
        return [(client, shard, Element(idx, pk, Freshness(*rest))) for client, shard, idx, pk, *rest in rows]

    async def stored(self) -> dict[str, dict[str, Row]]:
        found: dict[str, dict[str, Row]] = {client: {} for client in self.models}
        rows = await self.execute(_DOCUMENTS, [[*self.models]])
        for client, pk, epoch, version, at, status, expires_at, compression, document in rows:
            freshness = Freshness(epoch, version, at.astimezone(UTC))
            found[client][pk] = Row(freshness, status == 1, expires_at, decompress(compression, document))
        return found

    async def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            cursor = await connection.execute(sql, parameters)
            return await cursor.fetchall() if cursor.description else []

    # Locks and readers.

    def draw_held(self) -> tuple[str, str] | None:
        """Return a client with one of its stored keys."""
        stored = [(client, pk) for client, model in self.models.items() for pk in model.rows]
        return self.random.choice(stored) if stored else None

    @asynccontextmanager
    async def holding(self, client: str, pk: str) -> AsyncIterator[Callable[[asyncio.Task[Any]], Awaitable[None]]]:
        """Lock the row of a document; the yielded function returns once a task waits for the row."""
        async with self.database.transaction() as tx:
            await tx.execute("SELECT FROM documents WHERE client = %s AND pk = %s FOR UPDATE", [client, pk])

            async def waits(task: asyncio.Task[Any]) -> None:
                assert await comes_to_wait(task, self.database, behind=tx)

            yield waits

    async def read(self, client: str) -> queue_pb.ReadElementsResponse:
        cursors = self.followers[client].cursors
        request = queue_pb.ReadElementsRequest(client=client, limit=1000, bodies=True)
        for number in {shard_number(pk) for pk in _KEYS}:
            request.cursors.add(queue=_MAIN, shard=number, idx=cursors.get(number, 0))
        return await self.random.choice(self.replicas).queues.ReadElements(request)

    async def follow(self, client: str) -> None:
        """Read new elements of a client's queues."""
        follower = self.followers[client]
        response = await self.read(client)
        follower.seen |= {element.document.pk: element.document for element in response.elements}
        follower.cursors |= {cursor.shard: cursor.idx for cursor in response.next}

    async def check_follower(self, client: str) -> None:
        """Check that a reader at the end of the queue has the stored documents."""
        await self.follow(client)
        follower, rows = self.followers[client], self.models[client].rows
        for pk, row in rows.items():
            seen, stored = follower.seen[pk], RawDocument.FromString(row.content)
            assert (seen.epoch, seen.version, seen.timestamp) == (stored.epoch, stored.version, stored.timestamp)
            assert (seen.action != DOCUMENT_ACTION_DELETE) == row.is_live
            if row.is_live:
                assert seen == stored

    async def play(self) -> None:
        """Play one history."""
        steps = [self.push_one] * 10 + [self.push_at_once] * 4
        steps += [self.push_behind_another] * 4 + [self.expire, self.trim, self.trim, self.forget_tombstones]
        steps += [self.begin_epoch, self.back_up, self.restore, self.restart]
        for _ in range(_STEPS):
            await self.random.choice(steps)()
            if self.random.random() < 0.3:
                await self.follow(self.random.choice([*self.models]))
        await self.trim()
        for client in self.models:
            await self.check_follower(client)


_DOCUMENTS = """
SELECT client, pk, epoch, version, modify_timestamp, status, expires_at, compression, document
  FROM documents WHERE client = ANY(%s)
"""
_ELEMENTS = """
SELECT client, shard, idx, pk, epoch, version, modify_timestamp FROM elements WHERE queue = 1 AND client = ANY(%s)
"""
_ENDS = "SELECT client, shard, last_idx, trimmed_idx FROM shards WHERE queue = 1 AND client = ANY(%s)"


def outcome_of(result: pb.PushResult) -> Outcome:
    name = pb.PushOutcome.Name(result.outcome).removeprefix("PUSH_OUTCOME_")
    violations = tuple((each.field, each.description) for each in result.violations.field_violations)
    if violations and violations[0][1].startswith(_CONFLICT):
        return Outcome("CONFLICT")
    return Outcome(name, result.stored_version, result.stored_epoch or result.current_epoch, violations)


Play = Callable[[int], Awaitable[None]]


@pytest.fixture
async def play(
    receiver_database: Database, rpc_server: StartServer, rpc_channel: OpenChannel, build: Build
) -> AsyncIterator[Play]:
    """Play a history by its seed; each history has separate clients."""
    databases: list[Database] = []

    async def start() -> Replica:
        database = Database(receiver_database.dsn, schema="receiver", application_name="histories")
        databases.append(database)
        await database.open()
        receiver = Receiver(
            database,
            limit_bytes=LIMIT_BYTES,
            compress_from_bytes=100,
            epochs_refresh_s=1e-6,
            limit_s=300,
        )
        target = await rpc_server("receiver", *receiver.servicers())
        clients = rpc_channel(target, caller="service", audience="receiver")
        indexer = rpc_channel(target, caller="indexer", audience="receiver")
        return Replica(receiver, ReceiverServiceStub(clients), IndexQueueServiceStub(indexer))

    replicas = [await start(), await start()]

    async def play(seed: int) -> None:
        nonlocal replicas
        random = Random(seed)
        clients = [f"h{seed}a", f"h{seed}b"]
        for client in clients:
            await replicas[0].receiver.put(build.schema(1, client=client))
        world = World(random, replicas, start, build, {client: ClientModel() for client in clients})
        world.followers = {client: Follower() for client in clients}
        try:
            await world.play()
        except AssertionError as error:
            error.add_note(f"history {seed}")
            raise
        finally:
            replicas = world.replicas

    yield play
    for database in databases:
        await database.close()


async def play_all(play: Play) -> None:
    for seed in range(_HISTORIES):
        await play(seed)


@pytest.mark.slow
@pytest.mark.timeout(7200 if IS_LONG else 600)
async def test_histories(play: Play) -> None:
    await play_all(play)


@pytest.mark.slow
@pytest.mark.timeout(600)
@in_campaigns
@pytest.mark.parametrize("naive", NAIVE_WAYS)
async def test_the_model_finds_the_naive_way(
    play: Play, monkeypatch: pytest.MonkeyPatch, naive: Callable[[pytest.MonkeyPatch], None]
) -> None:
    naive(monkeypatch)
    with pytest.raises(AssertionError):
        await play_all(play)
