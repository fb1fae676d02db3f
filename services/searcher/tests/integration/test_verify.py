"""Digests find an index that differs from the registry; it is rebuilt, and a remaining difference is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE, DOCUMENT_ACTION_UPSERT, RawDocument
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.index_queue_service_pb2 import INDEX_QUEUE_MAIN, ShardDigest
from classifeed_common.faults import lasting
from classifeed_common.kafka import KafkaProducer, message_of
from classifeed_devkit.testing.background import running
from classifeed_devkit.testing.campaigns import in_campaigns
from classifeed_devkit.testing.databases import TableBackup
from classifeed_domain.document_shards import SHARDS, hash_of, shard_of
from classifeed_domain.topics import index_documents
from classifeed_searcher.app.verify_index import IndexVerifier
from classifeed_searcher.clients.receiver import ReceiverClient

from ..conftest import make_upsert
from .conftest import Scene

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]

REGISTRY = ("documents", "shards", "elements", "failures", "progress")


@pytest.fixture
async def searcher(scene: Scene) -> Any:
    """Open a searcher with 300 documents, equal to the registry."""
    await scene.deliver(300)
    made = scene.open_searcher()
    made.start(verifies=True)
    await made.settled()
    assert made.live.equal == SHARDS
    return made


def damage(searcher: Any, *documents: RawDocument, removed: str = "") -> None:
    """Change the index behind the searcher's back."""
    index = searcher.live.generation.index
    changes = [
        IndexDocument(pk=each.pk, version=each.version, action=each.action, timestamp=each.timestamp, body=each.body)
        for each in documents
    ]
    if removed:
        changes.append(IndexDocument(pk=removed, action=DOCUMENT_ACTION_DELETE))
    index.apply(changes)
    index.commit()


@pytest.mark.parametrize(
    "kind", ["lost", "swapped", *(pytest.param(each, marks=in_campaigns) for each in ["too many", "older"])]
)
async def test_difference_is_named_and_the_index_made_again(upstream: Any, searcher: Any, kind: str) -> None:
    first = searcher.live.generation
    match kind:
        case "lost":
            damage(searcher, removed="k7")
        case "too many":
            damage(searcher, make_upsert("nobody"))
        case "older":
            await upstream.push(make_upsert("k7", 5))
            await searcher.settled()
            damage(searcher, make_upsert("k7", 4))
        case "swapped":  # as many documents as there should be
            other = next(pk for n in range(10**6) if shard_of(hash_of(pk := f"x{n}")) == shard_of(hash_of("k7")))
            damage(searcher, make_upsert(other), removed="k7")
    named: list[str] = []

    def is_made_again() -> bool:
        named.extend(searcher.verifier.blocked().values())
        assert searcher.is_whole, "what is nearly right is searched until then"
        return searcher.live.generation is not first

    await searcher.until(is_made_again)
    assert any("differ from the registry (shard" in line and "is being rebuilt" in line for line in named), named
    await searcher.settled()
    assert searcher.versions() == await upstream.live_versions()
    assert not searcher.verifier.blocked()


@pytest.mark.parametrize("restored", ["tables", "tables, and nothing is written since"])
async def test_restored_receiver_leaves_no_documents_that_it_does_not_know(
    upstream: Any, searcher: Any, restored: str
) -> None:
    """The index has the documents pushed since the backup; the service offers pushes them again (see its tests)."""
    backup = TableBackup(upstream.database, *REGISTRY)
    await backup.take()
    await upstream.push(*[make_upsert(f"k{n}", 2) for n in range(0, 300, 2)], make_upsert("new"))
    await searcher.settled()
    first = searcher.live.generation
    await backup.restore()
    if restored == "tables":
        await upstream.push(*[make_upsert(f"k{n}", 3) for n in range(0, 300, 10)])
    await searcher.until(lambda: searcher.live.generation is not first, "the difference is found")
    await searcher.settled()
    assert searcher.versions() == await upstream.live_versions()
    assert "new" not in searcher.versions()


async def test_a_damaged_row_of_the_registry_is_no_difference_once_a_rebuild_has_left_it_out(
    upstream: Any, searcher: Any
) -> None:
    """End to end: one damaged row must not end every rebuild, and with it the service for all clients."""
    first = searcher.live.generation
    damage(searcher, removed="k8")
    await upstream.execute("UPDATE documents SET document = set_byte(document, 0, 255) WHERE pk = 'k7'")
    await searcher.until(lambda: searcher.live.generation is not first, "k8 is missing")
    await searcher.settled()
    assert not searcher.verifier.blocked()
    expected = await upstream.live_versions()
    assert "k7" not in expected, "it is marked"
    assert "k8" in expected
    assert searcher.versions() == expected
    await upstream.push(make_upsert("k7", 1))
    await searcher.until(lambda: searcher.versions().get("k7") == 1, "the same version replaces the damaged row")


@in_campaigns
async def test_what_no_rebuild_mends_is_named_and_not_tried_for_ever(
    upstream: Any, searcher: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = searcher.live.generation
    damage(searcher, removed="k7")
    scan_page = searcher.receiver.scan_page

    async def scan_without(*position: Any) -> Any:
        page = await scan_page(*position)
        kept = [content for content in page.documents if RawDocument.FromString(content).pk != "k7"]
        return replace(page, documents=kept)

    monkeypatch.setattr(searcher.receiver, "scan_page", scan_without)
    await searcher.until(lambda: searcher.live.generation is not first)
    second = searcher.live.generation
    verifier = searcher.verifier
    await searcher.until(lambda: verifier._generation is second and bool(searcher.live.differing), "a comparison")
    await asyncio.sleep(3)  # several comparisons
    assert searcher.live.generation is second
    assert "did not correct it" in verifier.blocked()[upstream.client]
    backlog = await verifier.backlog()
    assert backlog[f"{upstream.client} shards that differ from the registry"] == 1, "not settled"
    await upstream.push(make_upsert("k7", 2))
    await searcher.settled()
    assert not verifier.blocked()


async def test_documents_that_the_index_cannot_take_are_no_difference(
    upstream: Any, searcher: Any, producer: KafkaProducer
) -> None:
    """A document goes to the dead letters, and the index keeps the older version."""
    first = searcher.live.generation
    shard = shard_of(hash_of("k7"))
    await upstream.stop_indexer()
    await upstream.push(make_upsert("k7", 2))
    async with upstream.database.connection() as connection:
        cursor = await connection.execute(
            "SELECT last_idx FROM shards WHERE client = %s AND queue = 1 AND shard = %s", (upstream.client, shard)
        )
        [(idx,)] = await cursor.fetchall()
    wrong = IndexDocument(
        client=upstream.client, epoch=1, pk="k7", version=2, action=DOCUMENT_ACTION_UPSERT, fence=1 << 62,
        queue=INDEX_QUEUE_MAIN, shard=shard, idx=idx,
    )  # fmt: skip
    wrong.fields.add(name="price").values.add(string_value="дёшево")
    await producer.send([message_of(index_documents(upstream.client), b"k7", wrong, partition=shard)])
    await searcher.until(lambda: searcher.live.generation.state.refused == {"k7": 2})
    await upstream.execute("UPDATE progress SET idx = %s WHERE queue = 1 AND shard = %s", idx, shard)
    await searcher.settled()
    assert searcher.live.generation is first
    assert searcher.versions()["k7"] == 1


async def test_shard_on_the_move_is_compared_later(upstream: Any, searcher: Any) -> None:
    """The indexer is stopped: the registry is ahead, which is not a difference, but the backlog is not empty."""
    first = searcher.live.generation
    await upstream.stop_indexer()
    await upstream.push(*[make_upsert(f"k{n}", 2) for n in range(300)])
    for _ in range(4):
        backlog = await searcher.verifier.backlog()
        assert backlog[f"{upstream.client} shards to compare with the registry"] > 0
        await asyncio.sleep(0.7)
    assert not searcher.live.differing
    assert searcher.live.generation is first


async def test_registry_adds_up_only_so_many_documents_in_a_call(searcher: Any) -> None:
    """A call that sums up all documents of a large registry would exceed its timeout, and nothing would be compared."""
    calls: list[int] = []

    class Counted(ReceiverClient):
        async def digests(self, shards: Sequence[int]) -> dict[int, ShardDigest]:
            found = await super().digests(shards)
            calls.append(sum(digest.documents for digest in found.values()))
            return found

    counted = Counted(searcher.channel, searcher.live.client)
    verifier = IndexVerifier(
        searcher.live,
        counted,
        searcher.topic,
        searcher.keeper.request_rebuild,
        interval_s=3600,
        documents_at_once=20,
    )
    stop = asyncio.Event()
    running = asyncio.create_task(verifier.run(stop))
    await searcher.until(lambda: sum(calls) >= 300)
    stop.set()
    await running
    assert sum(calls) == 300
    assert len(calls) == SHARDS // 4, "300 documents in 64 shards: 20 of them in four"
    assert searcher.live.equal == SHARDS


async def test_a_comparison_that_fails_is_named_until_one_succeeds(
    searcher: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lasting, "_NAMED_AFTER_S", 0.0)
    faults: list[Exception] = [ZeroDivisionError("no shards")]

    class Faulty(ReceiverClient):
        async def digests(self, shards: Sequence[int]) -> dict[int, ShardDigest]:
            if faults:
                raise faults[0]
            return await super().digests(shards)

    faulty = Faulty(searcher.channel, searcher.live.client)
    request_rebuild = searcher.keeper.request_rebuild
    verifier = IndexVerifier(searcher.live, faulty, searcher.topic, request_rebuild, interval_s=3600)
    async with running(verifier):
        await searcher.until(lambda: bool(verifier.blocked()))
        [(item, words)] = verifier.blocked().items()
        assert item == f"comparing {searcher.live.client}"
        assert "comparing the index with the registry has failed for " in words
        assert "ZeroDivisionError: no shards" in words
        faults.clear()
        await searcher.until(lambda: not verifier.blocked())
        assert searcher.live.equal == SHARDS
