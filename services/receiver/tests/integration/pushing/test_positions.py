"""A client gets an error before any write, if the receiver no longer has elements that it has acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from classifeed.documents.v1 import receiver_service_pb2 as pb
from classifeed_common.errors import FailedPrecondition
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.testing.databases import TableBackup
from classifeed_receiver.app.reading.report_progress import report_progress
from classifeed_receiver.app.upkeep.trim_queues import QueueTrimmer
from classifeed_receiver.domain.cursors import ShardKey
from classifeed_receiver.domain.documents import Acknowledged, ShardPosition, Stale

from ...conftest import Build, Receiver, Stubs

MAIN = 1


def positions_of(outcomes: list[Any]) -> list[ShardPosition]:
    newest: dict[int, int] = {}
    for outcome in outcomes:
        if outcome.position is not None:
            newest[outcome.position.shard] = max(newest.get(outcome.position.shard, 0), outcome.position.idx)
    return [ShardPosition(shard, idx) for shard, idx in newest.items()]


async def versions(receiver: Receiver) -> dict[str, int]:
    return dict(await receiver.fetch("SELECT pk, version FROM documents"))


async def test_positions_that_were_acknowledged_pass(receiver: Receiver, build: Build) -> None:
    known: list[ShardPosition] = []
    for version in range(1, 4):
        known = positions_of(await receiver.push(*[build.upsert(f"k{n}", version) for n in range(100)], known=known))
    ends = {ShardKey(MAIN, position.shard): position.idx for position in known}
    await report_progress(receiver.database, "search", "offers", ends)
    await QueueTrimmer(receiver.database, elements=1000, group_lifetime_s=60, failed_age_s=60).trim_once()
    first = [ShardPosition(position.shard, 1) for position in known]  # trimmed long ago
    for passing in (known, first):
        await receiver.push(build.upsert("x"), known=passing)


@pytest.mark.parametrize("pushed_since", [0, 3000])
async def test_batch_after_a_restore_writes_nothing(
    receiver: Receiver, build: Build, table_backup: TableBackup, pushed_since: int
) -> None:
    """Even after further pushes: a later element never has the index of a lost one."""
    await receiver.push(*[build.upsert(f"k{n}") for n in range(100)])
    await table_backup.take()
    known = positions_of(await receiver.push(*[build.upsert(f"k{n}", 2) for n in range(100)]))
    await table_backup.restore()
    if pushed_since:
        await receiver.push(*[build.upsert(f"later{n}") for n in range(pushed_since)])
    before = await versions(receiver)
    with pytest.raises(FailedPrecondition) as raised:
        await receiver.push(build.upsert("k0", 3), known=known)
    assert raised.value.reason == "REGISTRY_WENT_BACK"
    assert {"shard", "idx", "last_idx"} <= raised.value.metadata.keys()
    assert await versions(receiver) == before
    [outcome] = await receiver.push(build.upsert("k0", 3))
    assert isinstance(outcome, Acknowledged), "without these positions everything can be pushed again"


async def test_batch_without_a_valid_document_is_checked_too(
    receiver: Receiver, build: Build, table_backup: TableBackup
) -> None:
    """The schema went back, too, so that all documents seem invalid."""
    await table_backup.take()
    known = positions_of(await receiver.push(build.upsert("k0")))
    await table_backup.restore()
    unknown_field = build.upsert("k0", 3)
    unknown_field.fields.add(name="colour").values.add(string_value="red")
    with pytest.raises(FailedPrecondition, match="REGISTRY_WENT_BACK"):
        await receiver.push(unknown_field, known=known)


async def test_pushes_that_are_written_together_are_judged_apart(
    make_receiver: Callable[..., Receiver], build: Build, table_backup: TableBackup, receiver: Receiver
) -> None:
    """One of two processes of a client knows lost positions; the other starts without any and must be accepted."""
    await table_backup.take()
    known = positions_of(await receiver.push(build.upsert("k0")))
    await table_backup.restore()
    slow = make_receiver(coalesce_s=0.1, transactions=1)
    results = await asyncio.gather(
        slow.push(build.upsert("a"), known=known), slow.push(build.upsert("b")), return_exceptions=True
    )
    refused, pushed = results
    assert isinstance(refused, FailedPrecondition)
    assert isinstance(pushed, list)
    assert isinstance(pushed[0], Acknowledged)
    assert await versions(receiver) == {"b": 1}
    await slow.push_documents.stop()


async def test_check_of_positions_without_a_push(
    receiver: Receiver, stubs: Stubs, build: Build, table_backup: TableBackup
) -> None:
    first = await stubs.receiver.PushBatch(pb.PushBatchRequest(client="offers", documents=[build.upsert("a")]))
    await table_backup.take()
    request = pb.CheckPositionsRequest(client="offers", positions=first.positions)
    assert list((await stubs.receiver.CheckPositions(request)).ends) == list(first.positions)
    second = await stubs.receiver.PushBatch(pb.PushBatchRequest(client="offers", documents=[build.upsert("a", 2)]))
    assert list((await stubs.receiver.CheckPositions(request)).ends) == list(second.positions)
    await table_backup.restore()
    for refused in (
        stubs.receiver.CheckPositions(pb.CheckPositionsRequest(client="offers", positions=second.positions)),
        stubs.receiver.PushBatch(
            pb.PushBatchRequest(client="offers", documents=[build.upsert("a", 3)], known_positions=second.positions)
        ),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await refused
        assert raised.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        error = from_rpc_error(raised.value)
        assert (error.reason, error.metadata["idx"]) == ("REGISTRY_WENT_BACK", str(second.positions[0].idx))
    assert list((await stubs.receiver.CheckPositions(request)).ends) == list(first.positions)


async def test_position_outside_the_shards_is_refused_with_its_field(stubs: Stubs, build: Build) -> None:
    request = pb.PushBatchRequest(client="offers", documents=[build.upsert("a")])
    request.known_positions.add(shard=70_000, idx=1)
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stubs.receiver.PushBatch(request)
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "known_positions[0].shard" in {v.field for v in from_rpc_error(raised.value).violations}


async def test_stale_document_learns_what_is_stored(receiver: Receiver, stubs: Stubs, build: Build) -> None:
    await receiver.push(build.upsert("a", 9))
    assert await receiver.push(build.upsert("a", 3)) == [Stale()]
    response = await stubs.receiver.Push(pb.PushRequest(client="offers", document=build.upsert("a", 3)))
    assert (response.result.outcome, response.result.stored_version, response.result.stored_epoch) == (
        pb.PUSH_OUTCOME_STALE,
        9,
        1,
    )
