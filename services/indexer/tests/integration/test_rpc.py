from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from classifeed.documents.v1.indexer_service_pb2 import GetIndexerStatusRequest
from classifeed.documents.v1.indexer_service_pb2_grpc import (
    IndexerServiceStub,
    add_IndexerServiceServicer_to_server,
)
from classifeed_common.rpc.server import Servicer
from classifeed_devkit.testing.rpc import StartServer
from classifeed_devkit.testing.texts import check_that_nul_is_refused
from classifeed_indexer.rpc.indexer_service import IndexerService

from ..conftest import make_document
from .conftest import Scene, shard_of_pk


@pytest.fixture
async def target(scene: Scene, rpc_server: StartServer) -> str:
    offsets = {scene.client: scene.indexer().offsets}
    return await rpc_server("indexer", Servicer.of(add_IndexerServiceServicer_to_server, IndexerService(offsets)))


async def test_nul_in_any_text_of_a_request_is_refused_by_its_field(
    target: str, rpc_channel: Callable[..., Any]
) -> None:
    await check_that_nul_is_refused(rpc_channel, target, "indexer", "classifeed.documents.v1.IndexerService")


@pytest.fixture
def stub(target: str, rpc_channel: Callable[..., Any]) -> IndexerServiceStub:
    return IndexerServiceStub(rpc_channel(target, caller="operator", audience="indexer"))


async def test_status_of_every_shard(scene: Scene, stub: IndexerServiceStub) -> None:
    shard = shard_of_pk("a")
    indexer = scene.indexer("worker-1")
    other = (shard + 1) % 64
    lease, released = await indexer.take(shard, other)
    await indexer.leases.release(released)
    await scene.push(make_document("a"))
    await indexer.deliver_all()
    status = await stub.GetStatus(GetIndexerStatusRequest(client=scene.client))
    assert [entry.shard for entry in status.shards] == list(range(64))
    held = status.shards[shard]
    assert (held.holder, held.fence) == ("worker-1", lease.fence)
    [(end,)] = await scene.fetch("SELECT last_idx FROM shards")
    assert [(cursor.queue, cursor.shard, cursor.idx) for cursor in held.delivered] == [(1, shard, end), (2, shard, 0)]
    assert (status.shards[other].holder, status.shards[other].fence) == ("", 0)
    assert status.shards[(shard + 2) % 64].delivered == []


async def test_client_that_is_not_delivered_is_named(stub: IndexerServiceStub) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await stub.GetStatus(GetIndexerStatusRequest(client="nobody"))
    assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "nobody is not delivered here" in (raised.value.details() or "")
