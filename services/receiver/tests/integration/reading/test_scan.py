"""Scans of the registry and digests of it, over real gRPC."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest

from classifeed.documents.v1 import index_queue_service_pb2 as pb
from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed.documents.v1.index_queue_service_pb2_grpc import IndexQueueServiceStub
from classifeed_common.rpc.status import from_rpc_error
from classifeed_devkit.testing.rpc import OpenChannel, StartServer
from classifeed_domain.document_digest import digest_of
from classifeed_domain.document_shards import SHARDS, hash_of, shard_of
from classifeed_receiver.app.reading.report_progress import report_progress
from classifeed_receiver.domain.cursors import ShardKey
from classifeed_receiver.domain.schemas import EpochState
from classifeed_receiver.store import queues

from ...conftest import Build, Receiver, Stubs

MAIN = pb.INDEX_QUEUE_MAIN
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
async def searcher(receiver: Receiver, rpc_server: StartServer, rpc_channel: OpenChannel) -> IndexQueueServiceStub:
    target = await rpc_server("receiver", *receiver.servicers())
    return IndexQueueServiceStub(rpc_channel(target, caller="searcher", audience="receiver"))


async def scan(searcher: IndexQueueServiceStub, shard: int, **options: Any) -> list[list[RawDocument]]:
    """Return the pages of a shard, including the empty last one."""
    request = pb.ScanDocumentsRequest(client="offers", shard=shard, epoch=1, **options)
    pages = []
    while True:
        page = await searcher.ScanDocuments(request)
        pages.append([RawDocument.FromString(content) for content in page.documents])
        if not page.HasField("next"):
            return pages
        request.after.CopyFrom(page.next)


async def test_scan_returns_every_live_document_of_its_shard_once(
    receiver: Receiver, build: Build, searcher: IndexQueueServiceStub
) -> None:
    await receiver.push(*[build.upsert(f"k{n}", title="диван " * (1 + n % 500)) for n in range(400)])
    await receiver.push(*[build.delete(f"k{n}", 2) for n in range(0, 400, 7)])
    found: list[str] = []
    for shard in range(SHARDS):
        pages = await scan(searcher, shard, limit_bytes=20_000)
        documents = [document for page in pages for document in page]
        assert all(shard_of(hash_of(document.pk)) == shard for document in documents)
        keys = [(hash_of(document.pk), document.pk) for document in documents]
        assert keys == sorted(keys)
        assert all(sum(document.ByteSize() for document in page[:-1]) <= 20_000 for page in pages)
        found += [document.pk for document in documents]
    assert sorted(found) == sorted(f"k{n}" for n in range(400) if n % 7)


async def test_a_body_is_scanned_as_a_body_and_by_older_searchers_as_fields(
    receiver: Receiver, build: Build, searcher: IndexQueueServiceStub
) -> None:
    document = build.upsert("a")
    document.ClearField("fields")
    document.body = '{"title":"диван"}'
    await receiver.push(document)
    shard = shard_of(hash_of("a"))
    assert (await scan(searcher, shard, bodies=True))[0] == [document]
    assert (await scan(searcher, shard))[0] == [build.upsert("a")]


async def test_damaged_row_is_counted_and_the_scan_goes_on(
    receiver: Receiver, build: Build, searcher: IndexQueueServiceStub
) -> None:
    pks = [pk for pk in (f"k{n}" for n in range(2000)) if shard_of(hash_of(pk)) == 3][:5]
    await receiver.push(*[build.upsert(pk) for pk in pks])
    await receiver.fetch("UPDATE documents SET document = '\\xff00', compression = 1 WHERE pk = %s RETURNING 1", pks[2])
    page = await searcher.ScanDocuments(pb.ScanDocumentsRequest(client="offers", shard=3, epoch=1))
    assert page.unreadable == 1
    assert {RawDocument.FromString(content).pk for content in page.documents} == {*pks} - {pks[2]}


async def test_scan_of_another_epoch_is_refused(
    receiver: Receiver, build: Build, searcher: IndexQueueServiceStub
) -> None:
    await receiver.push(build.upsert("a"))
    await receiver.put_epoch(build.schema(2), EpochState.ACTIVE)
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await scan(searcher, 0)
    assert from_rpc_error(raised.value).reason == "EPOCH_NOT_ACTIVE"
    page = await searcher.ScanDocuments(pb.ScanDocumentsRequest(client="offers", shard=shard_of(hash_of("a")), epoch=2))
    assert not page.documents, "documents of the epoch before are pushed anew by their client"


async def digests(searcher: IndexQueueServiceStub, *shards: int) -> dict[int, pb.ShardDigest]:
    response = await searcher.GetDigest(pb.GetDigestRequest(client="offers", shards=shards or range(SHARDS)))
    assert [digest.shard for digest in response.digests] == list(shards or range(SHARDS))
    return {digest.shard: digest for digest in response.digests}


async def test_digest_is_the_sum_over_live_documents(
    receiver: Receiver, build: Build, searcher: IndexQueueServiceStub
) -> None:
    await receiver.push(*[build.upsert(f"k{n}", 1 + n * 10**12) for n in range(500)])
    await receiver.push(*[build.delete(f"k{n}", 10**17) for n in range(0, 500, 9)])
    expected: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for n in range(500):
        if n % 9:
            pk_hash = hash_of(f"k{n}")
            for at, part in enumerate((1, *digest_of(pk_hash, 1 + n * 10**12))):
                expected[shard_of(pk_hash)][at] += part
    found = await digests(searcher)
    assert {shard: [d.documents, d.sum_a, d.sum_b] for shard, d in found.items()} == {
        shard: expected[shard] for shard in range(SHARDS)
    }
    assert (await digests(searcher, 7, 3))[3] == found[3]


async def test_digest_comes_with_the_ends_of_its_snapshot(
    receiver: Receiver, build: Build, searcher: IndexQueueServiceStub
) -> None:
    [outcome] = await receiver.push(build.upsert("a"))
    shard, idx = outcome.position
    for delivered in (0, idx):
        await report_progress(receiver.database, "search", "offers", {ShardKey(MAIN, shard): delivered})
        digest = (await digests(searcher, shard))[shard]
        assert (digest.main_idx, digest.main_delivered_idx) == (idx, delivered)
        assert (digest.emergency_idx, digest.emergency_delivered_idx) == (0, 0)
    empty = (await digests(searcher, (shard + 1) % SHARDS))[(shard + 1) % SHARDS]
    assert (empty.documents, empty.main_idx, empty.main_delivered_idx) == (0, 0, 0)


async def test_documents_that_could_not_be_converted_are_named_while_they_are_the_newest(
    receiver: Receiver, stubs: Stubs, build: Build, searcher: IndexQueueServiceStub
) -> None:
    [outcome] = await receiver.push(build.upsert("a"))
    shard, idx = outcome.position
    position = pb.QueueCursor(queue=MAIN, shard=shard, idx=idx)
    failed = pb.FailedElement(position=position, pk="a", reason="no such type")
    await stubs.queue.AppendFailed(pb.AppendFailedRequest(client="offers", elements=[failed]))
    digest = (await digests(searcher, shard))[shard]
    assert [(it.pk, it.version) for it in digest.failed] == [("a", 1)]
    assert digest.documents == 1
    await receiver.push(build.upsert("a", at=NOW + timedelta(seconds=1)))
    assert not (await digests(searcher, shard))[shard].failed, "the same version, composed anew"


async def test_what_is_written_between_ends_and_sums_is_in_neither(
    receiver: Receiver, build: Build, searcher: IndexQueueServiceStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    [outcome] = await receiver.push(build.upsert("a"))
    shard, idx = outcome.position
    list_ends = queues.list_ends

    async def select_and_push(*given: Any) -> Any:
        ends = await list_ends(*given)
        await receiver.push(build.delete("a", 2))
        return ends

    monkeypatch.setattr(queues, "list_ends", select_and_push)
    digest = (await digests(searcher, shard))[shard]
    assert (digest.main_idx, digest.documents) == (idx, 1)
