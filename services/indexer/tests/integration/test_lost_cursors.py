"""Restored tables of indexer and receiver, and queues trimmed before a reader: delivery recovers automatically."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE
from classifeed.documents.v1.indexer_service_pb2 import GetIndexerStatusRequest, RequestRefillRequest
from classifeed.documents.v1.indexer_service_pb2_grpc import (
    IndexerServiceStub,
    add_IndexerServiceServicer_to_server,
)
from classifeed_common.clock import FakeClock
from classifeed_common.errors import PermissionDenied
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.testing.databases import TableBackup
from classifeed_devkit.testing.recovery import until
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_domain.document_shards import SHARDS
from classifeed_indexer.domain.shards import EMERGENCY, MAIN, ShardQueue
from classifeed_indexer.metrics import LOST_CURSORS
from classifeed_indexer.rpc.indexer_service import IndexerService
from classifeed_indexer.store.offsets import Offsets
from classifeed_receiver.app.upkeep.trim_queues import QueueTrimmer

from ..conftest import Index, Indexer, Registry, make_document
from .conftest import ALL, Scene

REGISTRY_TABLES = ("documents", "shards", "elements", "failures", "progress")


async def trim(registry: Registry) -> None:
    trimmer = QueueTrimmer(registry.database, elements=100_000, group_lifetime_s=600, failed_age_s=60)
    while await trimmer.trim_once():
        pass


def lost(client: str, reason: str) -> float:
    return float(LOST_CURSORS.labels(client, reason)._value.get())


async def report(indexer: Indexer) -> None:
    indexer.deliverer._report_due = True
    indexer.deliverer._reported_at_s = float("-inf")
    await indexer.deliverer._report()


@pytest.fixture(params=["refilled", "goes on without"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return our way, and the naive one: continue at the start or end of the queue, without a refill."""
    if request.param == "goes on without":
        reposition = Offsets.reposition

        async def forget_refill(self: Offsets, *given: Any, refill: str | None) -> bool:
            return await reposition(self, *given, refill=None)

        monkeypatch.setattr(Offsets, "reposition", forget_refill)
    return str(request.param)


async def test_offsets_that_went_back_behind_the_trim_go_on_where_the_queue_begins(scene: Scene) -> None:
    """The indexer's tables are restored; elements trimmed since then were delivered, as its group has reported."""
    backup = TableBackup(scene.database, "offsets", "leases", "refills")
    before = await scene.holder("before")
    await scene.push_many(range(100))
    await before.settle()
    await backup.take()
    await scene.push_many(range(100), 2)
    await before.settle()
    await report(before)
    await trim(scene.registry)
    await backup.restore()
    await scene.execute("UPDATE leases SET expires_at = '-infinity'")
    index = Index(before.producer.sent)
    again = await scene.holder("again")
    await scene.push_many(range(50), 3)
    await again.settle()
    index.apply(again.producer.sent)
    assert index.versions() == await scene.live()
    assert lost(scene.client, "CURSOR_TRIMMED") > 0
    assert {sent.queue for sent in again.producer.sent} == {MAIN}, "nothing had to be filled again"
    assert await again.offsets.refills.list_refills() == {}


async def test_group_that_was_away_too_long_gets_its_shards_filled_again(scene: Scene, way: str) -> None:
    """The queue is trimmed by the progress of another group; this group reads for the first time."""
    await scene.push_many(range(100))
    await scene.push_many(range(0, 100, 7), 2)
    await scene.fetch(
        "INSERT INTO progress SELECT client, 'other', queue, shard, last_idx, now() FROM shards RETURNING 1"
    )
    await trim(scene.registry)
    late = await scene.holder()
    await late.settle()
    index = Index(late.producer.sent)
    assert (index.versions() == await scene.live()) == (way == "refilled")
    assert lost(scene.client, "CURSOR_TRIMMED") > 0


async def test_queue_that_went_back_is_followed_and_its_shards_filled_again(scene: Scene, way: str) -> None:
    """The receiver's tables are restored; then its clients push again, before the indexer looks."""
    backup = TableBackup(scene.registry.database, *REGISTRY_TABLES)
    indexer = await scene.holder()
    await scene.push_many(range(100))
    await indexer.settle()
    await report(indexer)
    await backup.take()
    await scene.push_many(range(100), 2)
    await indexer.settle()
    await report(indexer)
    await backup.restore()
    assert (await indexer.backlog())[scene.client] > 0, "cursors beyond the ends are not settled"
    await scene.push_many(range(40), 3)
    await indexer.settle()
    index = Index(indexer.producer.sent)
    found, stored = index.versions(), await scene.live()
    assert (found == stored) == (way == "refilled")
    assert lost(scene.client, "CURSOR_UNKNOWN") > 0


async def test_refill_brings_deletions_too(scene: Scene) -> None:
    await scene.push(make_document("gone"), make_document("here"))
    first = scene.indexer("first")
    leases = await first.take(*ALL)
    await first.settle()
    deleted = make_document("gone", 2)
    del deleted.fields[:]
    deleted.action = DOCUMENT_ACTION_DELETE
    await scene.push(deleted)
    for lease in leases:
        await first.leases.release(lease)
    for shard, last_idx in await scene.fetch("SELECT shard, last_idx FROM shards"):  # skipped, undelivered
        await scene.execute("UPDATE offsets SET idx = %s WHERE shard = %s AND queue = 1", last_idx, shard)
    second = await scene.holder("second")
    await second.settle()
    assert second.producer.sent == []
    await second.offsets.refills.request(list(ALL), "test")
    await second.settle()
    index = Index([*first.producer.sent, *second.producer.sent])
    assert index.versions() == {"here": 1}


async def test_refill_goes_on_with_the_next_holder_where_it_stood(scene: Scene) -> None:
    shard = 5
    pks = await scene.push_shard(shard, 100)
    dying = scene.indexer("dying")
    [lease] = await dying.take(shard)
    await dying.settle()
    await dying.offsets.refills.request([shard], "test")
    dying.producer.sent.clear()
    for _ in range(2):  # two steps of twenty, the second not delivered
        assert await dying.refiller.step_once()
        if _ == 0:
            await dying.deliver_all()
    await dying.deliverer.lose(lease)
    await dying.leases.release(lease)
    assert (await dying.offsets.refills.list_refills())[shard].documents == 40
    heir = scene.indexer("heir")
    await heir.take(shard)
    await heir.settle()
    refilled = [sent.pk for sent in (*dying.producer.sent, *heir.producer.sent)]
    assert sorted(refilled) == sorted(pks), "each once: the heir went on"
    assert len(heir.producer.sent) == 80


async def test_no_step_is_taken_before_the_one_before_is_delivered(scene: Scene) -> None:
    shard = 5
    await scene.push_shard(shard, 50)
    indexer = scene.indexer()
    await indexer.take(shard)
    await indexer.offsets.refills.request([shard], "test")
    assert await indexer.refiller.step_once()
    for _ in range(3):
        assert not await indexer.refiller.step_once()
    assert await scene.fetch("SELECT count(*) FROM elements WHERE queue = 2") == [(20,)]
    assert (
        "1 shards are being refilled from the registry (test), 20 documents"
        in (indexer.refiller.blocked()[indexer.client])
    )
    await indexer.settle()
    assert await indexer.refiller.step_once() is False
    assert indexer.refiller.blocked() == {}


async def test_a_refill_that_fails_is_named_until_it_goes_on(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classifeed_indexer.app.refill_shards._POLL_S", 0.02)
    clock, attempts = FakeClock(), 0
    indexer = scene.indexer(clock=clock)
    await indexer.take(5)
    await indexer.offsets.refills.request([5], "test")

    async def refuse(*_: Any, **__: Any) -> Any:
        nonlocal attempts
        attempts += 1
        raise PermissionDenied("CALLER_REFUSED", "the receiver lets nobody refill")

    what = f"{indexer.client} refill"
    with monkeypatch.context() as patched:
        patched.setattr(indexer.receiver, "refill", refuse)
        stop = asyncio.Event()
        running = asyncio.create_task(indexer.refiller.run(stop))
        await until(lambda: attempts > 1)
        assert what not in indexer.refiller.blocked()
        await clock.advance(5)
        assert ": CALLER_REFUSED: the receiver lets nobody refill. Shards" in indexer.refiller.blocked()[what]
    await until(lambda: indexer.refiller.blocked() == {})
    stop.set()
    await running


@pytest.mark.parametrize("seen_by", ["the wait", "the next step"])
async def test_refill_whose_elements_were_lost_begins_anew(scene: Scene, seen_by: str) -> None:
    """The receiver is restored during a refill."""
    shard = 5
    pks = await scene.push_shard(shard, 50)
    backup = TableBackup(scene.registry.database, *REGISTRY_TABLES)
    indexer = scene.indexer()
    await indexer.take(shard)
    await indexer.deliver_all()
    await report(indexer)
    await backup.take()
    await indexer.offsets.refills.request([shard], "test")
    indexer.producer.sent.clear()
    assert await indexer.refiller.step_once()
    if seen_by == "the next step":
        await indexer.deliver_all()
    await backup.restore()
    if seen_by == "the next step":
        indexer.producer.sent.clear()
        assert await indexer.refiller.step_once()
        [refill] = (await indexer.offsets.refills.list_refills()).values()
        assert (refill.documents, refill.last_idx) == (0, 0)
    await indexer.settle()
    assert {sent.pk for sent in indexer.producer.sent} == set(pks)


async def test_request_made_anew_is_not_covered_by_the_step_under_way(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = 5
    await scene.push_shard(shard, 15)
    indexer = scene.indexer()
    await indexer.take(shard)
    await indexer.deliver_all()
    await indexer.offsets.refills.request([shard], "first")
    refill = indexer.receiver.refill

    async def refill_beside_a_request(*given: Any, **named: Any) -> Any:
        step = await refill(*given, **named)
        await indexer.offsets.refills.request([shard], "second")
        return step

    monkeypatch.setattr(indexer.receiver, "refill", refill_beside_a_request)
    await indexer.refiller.step_once()
    [left] = (await indexer.offsets.refills.list_refills()).values()
    assert (left.reason, left.documents, left.after) == ("second", 0, None)


async def test_zombie_notes_nothing(scene: Scene) -> None:
    await scene.push(make_document("a"))
    zombie = scene.indexer("zombie")
    leases = await zombie.take(*ALL)
    await zombie.offsets.refills.request([3], "test")
    [refill] = (await zombie.offsets.refills.list_refills()).values()
    await scene.expire_leases()
    assert not await zombie.offsets.refills.finish(refill, leases[3])
    key = ShardQueue(EMERGENCY, 3)
    assert not await zombie.offsets.reposition(key, 0, 5, leases[3], refill="test")
    assert (await zombie.offsets.list_offsets())[key] == 0
    await scene.indexer("heir").take(3)
    assert not await zombie.offsets.refills.finish(refill, leases[3])


async def test_operator_asks_for_a_refill(scene: Scene, rpc_server: StartServer, rpc_channel: OpenChannel) -> None:
    offsets = Offsets(scene.database, "search", scene.client)
    service = Servicer.of(add_IndexerServiceServicer_to_server, IndexerService({scene.client: offsets}))
    target = await rpc_server("indexer", service)
    stub = IndexerServiceStub(rpc_channel(target, caller="operator", audience="indexer"))
    await scene.push_many(range(30))
    indexer = await scene.holder()
    await indexer.settle()
    indexer.producer.sent.clear()
    assert (await stub.RequestRefill(RequestRefillRequest(client=scene.client))).shards == SHARDS
    status = await stub.GetStatus(GetIndexerStatusRequest(client=scene.client))
    assert {shard.refill.reason for shard in status.shards} == {"requested by an operator"}
    await indexer.settle()
    assert {sent.pk for sent in indexer.producer.sent} == {f"k{number}" for number in range(30)}
    status = await stub.GetStatus(GetIndexerStatusRequest(client=scene.client))
    assert not any(shard.HasField("refill") for shard in status.shards)
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stub.RequestRefill(RequestRefillRequest(client=scene.client, shards=[64]))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_live_documents_are_delivered_beside_a_refill(scene: Scene) -> None:
    """New versions are pushed at every step; the index ends with the newest, although a refill repeats older ones."""
    await scene.push_many(range(300))
    indexer = await scene.holder()
    await indexer.deliver_all()
    await indexer.offsets.refills.request(list(ALL), "test")
    stop = asyncio.Event()

    async def write() -> None:
        for version in range(2, 8):
            await scene.push_many(range(version, 300, 5), version)
            await asyncio.sleep(0)
        stop.set()

    writing = asyncio.create_task(write())
    while not stop.is_set():
        await indexer.refiller.step_once()
        await indexer.deliverer.deliver_once()
    await writing
    await indexer.settle()
    index = Index(indexer.producer.sent)
    assert index.versions() == await scene.live()
