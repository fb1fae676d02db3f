"""A lost or outdated index is rebuilt from the registry during writes, and is complete."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from classifeed.documents.v1 import schema_pb2
from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed_common.child_processes import ChildProcesses
from classifeed_common.errors import FailedPrecondition, Unavailable
from classifeed_common.kafka import Cluster
from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns
from classifeed_domain.document_shards import SHARDS
from classifeed_searcher.app.build_index import BuildIndex, Built
from classifeed_searcher.clients.receiver import ReceiverClient, ScannedPage
from classifeed_searcher.consumers import index_keeper
from classifeed_searcher.domain.rebuild import DIFFERENCE, Cause, Rebuild
from classifeed_searcher.domain.watermarks import Watermarks
from classifeed_searcher.store.generation import IndexGeneration, IndexWrite

from ..conftest import Disk, make_delete, make_upsert
from .conftest import Scene

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("begins", ["at the registry", "at the start of the topic"])
async def test_new_index_holds_what_the_topic_has_forgotten(scene: Scene, begins: str) -> None:
    """The topic is a window of a week: a reader of it lacks all documents that have not changed since."""
    await scene.deliver(300)
    first = scene.open_searcher()
    first.start(verifies=True)
    await first.settled()
    await first.stop()
    await scene.forget_topic()
    await scene.upstream.push(make_delete("k0", 2), make_upsert("k1", 2))
    shutil.rmtree(first.generations.folder)

    again = scene.open_searcher()
    if begins == "at the start of the topic":
        again.receiver.scan_page = _nothing
    again.start()
    await again.until(lambda: again.is_whole)
    await scene.upstream.delivered()
    async with asyncio.timeout(180):
        while any((await again.keeper.backlog()).values()):
            await asyncio.sleep(0.05)
    assert (again.versions() == await scene.upstream.live_versions()) is (begins == "at the registry")


async def _nothing(*_: object) -> Any:
    return ScannedPage([], None, 0)


@pytest.mark.parametrize(
    "lost", ["folder", "topic", *(pytest.param(each, marks=in_campaigns) for each in ["state", "words", "retention"])]
)
async def test_lost_index_is_made_again_by_itself_and_not_shown_before(scene: Scene, lost: str) -> None:
    await scene.deliver(2000)
    before = scene.open_searcher()
    before.start(verifies=True)
    await before.settled()
    await before.stop()
    # Changes that were delivered while the replica was stopped.
    await scene.upstream.push(*[make_upsert(f"k{n}", 2) for n in range(0, 2000, 3)], make_delete("k1", 2))
    await scene.upstream.delivered()
    folder = before.generations.folder
    [state] = folder.glob("*/state.json")
    match lost:
        case "folder":
            shutil.rmtree(folder)
        case "state":
            state.write_text("{")
        case "words":  # an index of the previous release, with another text analysis
            state.write_text(state.read_text().replace('"analysis": 2, ', ""))
            assert "analysis" not in state.read_text()
        case "retention":
            await scene.forget_topic()
        case "topic":
            await _led(await scene.make_topic_again(), scene.topic)

    after = scene.open_searcher()
    began_s = time.monotonic()
    shown: list[dict[str, int]] = []
    after.start(verifies=True)

    def is_whole() -> bool:
        if after.is_whole and not shown:
            shown.append(after.versions())
        return bool(shown)

    with pytest.raises(Unavailable):
        await after.live.check()
    await after.until(is_whole)
    print(f"{lost} lost: whole after {time.monotonic() - began_s:.1f} s")  # noqa: T201
    await after.settled()
    print(f"{lost} lost: digests equal after {time.monotonic() - began_s:.1f} s")  # noqa: T201
    expected = await scene.upstream.live_versions()
    assert shown == [expected], "nothing is shown before the index is whole"
    assert after.versions() == expected
    assert after.live.equal == SHARDS
    assert len([entry for entry in folder.iterdir() if entry.is_dir()]) == 1, "what was before is removed"
    await scene.upstream.push(make_upsert("k2", 9))
    await after.until(lambda: after.versions().get("k2") == 9, "the new index follows the topic")


async def test_positions_lost_under_a_running_searcher(scene: Scene) -> None:
    await scene.deliver(200)
    searcher = scene.open_searcher()
    searcher.start()
    await searcher.until(lambda: searcher.is_whole)
    first = searcher.live.generation
    await scene.make_topic_again()
    await scene.push_many(range(200), 2)
    await searcher.until(lambda: searcher.live.generation not in {first, None}, "another generation")
    await searcher.until(lambda: set(searcher.versions().values()) == {2})


async def test_crash_in_a_rebuild_begins_it_anew(scene: Scene) -> None:
    await scene.deliver(1000)
    first = scene.open_searcher()
    is_half = asyncio.Event()
    scan_page = first.receiver.scan_page

    async def scan_half(shard: int, *position: Any) -> Any:
        if shard == SHARDS // 2:
            is_half.set()
            await asyncio.Event().wait()
        return await scan_page(shard, *position)

    first.receiver.scan_page = scan_half
    first.start()
    async with asyncio.timeout(120):
        await is_half.wait()
    assert "of 64 shards" in first.keeper.blocked()[scene.upstream.client]
    assert (await first.keeper.backlog()).popitem()[1] >= SHARDS // 2
    await first.kill()
    again = scene.open_searcher()
    with pytest.raises(Unavailable):
        await again.live.check()
    again.start()
    await again.until(lambda: again.is_whole)
    assert again.versions() == await scene.upstream.live_versions()
    # Files that a crash has left are removed after the switch.
    await again.until(lambda: len([entry for entry in again.generations.folder.iterdir() if entry.is_dir()]) == 1)


@pytest.mark.parametrize(
    "fault",
    [
        "its writer ends",
        "a fault of the code",
        *(
            pytest.param(each, marks=in_campaigns)
            for each in ["the engine refuses its files", "another epoch is active"]
        ),
    ],
)
async def test_rebuild_that_fails_begins_anew_and_leaves_nothing(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The role continues; otherwise its process would end, restart, and fail again."""
    monkeypatch.setattr(index_keeper, "_WRITE_AGAIN_S", 1.0)
    await scene.deliver(500)
    searcher = scene.open_searcher()
    searcher.start()
    await searcher.until(lambda: searcher.is_whole and searcher.live.rebuild is None)
    former = searcher.live.generation
    builds: list[IndexGeneration] = []
    folders: list[set[str]] = []
    create, scan_page = IndexGeneration.create, searcher.receiver.scan_page

    def create_noted(folder: Path, schema: schema_pb2.Schema, children: ChildProcesses | None) -> IndexGeneration:
        generation = create(folder, schema, children)
        is_refused = fault == "the engine refuses its files" and not builds
        builds.append(generation)
        if is_refused:
            raise ValueError("No space left on device")
        return generation

    async def scan_half(shard: int, *position: Any) -> Any:
        if shard == SHARDS // 2:
            folders.append({entry.name for entry in searcher.generations.folder.iterdir() if entry.is_dir()})
            if len(builds) == 1 and fault == "its writer ends":
                assert builds[0].writer.pid is not None
                os.kill(builds[0].writer.pid, signal.SIGKILL)
            elif len(builds) == 1 and fault == "a fault of the code":
                raise LookupError("no such shard")
            elif len(builds) == 1:
                raise FailedPrecondition("EPOCH_NOT_ACTIVE", "epoch 1 is not the active one")
        return await scan_page(shard, *position)

    monkeypatch.setattr(IndexGeneration, "create", create_noted)
    searcher.receiver.scan_page = scan_half
    searcher.keeper.request_rebuild(Cause(DIFFERENCE, "a shard differs", keeps_former=True))
    reason = {"another epoch is active": "not the active one", "a fault of the code": "LookupError: no such shard"}
    await searcher.until(
        lambda: (
            reason.get(fault, "the index cannot be written") in searcher.keeper.blocked().get(scene.upstream.client, "")
        )
    )
    await searcher.until(lambda: searcher.live.generation is not former)
    assert folders[-1] == {former.folder.name, builds[1].folder.name}
    assert searcher.versions() == await scene.upstream.live_versions()


async def test_partition_that_fails_before_the_new_index_is_searched_is_named(scene: Scene, disk: Disk) -> None:
    await scene.deliver(60)
    await scene.upstream.delivered()
    searcher = scene.open_searcher()
    scan_page = searcher.receiver.scan_page

    async def scan_beside_a_write(shard: int, *position: Any) -> Any:
        if not disk.is_away:
            disk.is_away = True
            await scene.upstream.push(make_upsert("k0", 2))
            await scene.upstream.delivered()
        return await scan_page(shard, *position)

    searcher.receiver.scan_page = scan_beside_a_write
    searcher.start()
    await searcher.until(lambda: any(name.startswith(scene.topic) for name in searcher.keeper.blocked()))
    assert not searcher.is_whole
    disk.is_away = False
    await searcher.until(lambda: searcher.is_whole)
    assert searcher.versions() == await scene.upstream.live_versions()


async def test_client_without_a_schema_is_waited_for(scene: Scene) -> None:
    searcher = scene.open_searcher()
    searcher.start()
    await searcher.until(lambda: not searcher.live.has_schema)
    await searcher.live.check()
    assert await searcher.keeper.backlog() == {}
    scan_page, is_scanned = searcher.receiver.scan_page, asyncio.Event()

    async def scan_later(*position: Any) -> Any:
        await is_scanned.wait()
        return await scan_page(*position)

    searcher.receiver.scan_page = scan_later
    await scene.upstream.put_schema()
    await scene.start_indexer()
    await searcher.until(lambda: searcher.live.has_schema)
    await searcher.live.check()  # it was ready, and no searchable document is lost
    assert (await searcher.keeper.backlog()).popitem()[1] == SHARDS
    is_scanned.set()
    await scene.upstream.push(make_upsert("a"))
    await searcher.until(lambda: searcher.versions() == {"a": 1})


async def test_documents_that_cannot_be_decoded_are_left_out_counted_and_named(scene: Scene) -> None:
    """Without handling, one of them would end the searcher in every rebuild, for all clients."""
    await scene.deliver(300)
    searcher = scene.open_searcher()
    scan_page = searcher.receiver.scan_page
    damaged: list[str] = []
    named: list[str] = []

    async def scan_damaged(shard: int, *position: Any) -> Any:
        page = await scan_page(shard, *position)
        named.append(searcher.keeper.blocked().get(scene.upstream.client, ""))
        if not page.documents or damaged:
            return page
        damaged.append(RawDocument.FromString(page.documents[0]).pk)
        return replace(page, documents=[page.documents[0][:-1], *page.documents[1:]])

    searcher.receiver.scan_page = scan_damaged
    metric = "classifeed_searcher_damaged_documents_total"
    before = REGISTRY.get_sample_value(metric, {"client": scene.upstream.client}) or 0.0
    searcher.start()
    await searcher.until(lambda: searcher.is_whole)
    expected = await scene.upstream.live_versions()
    del expected[damaged[0]]
    assert searcher.versions() == expected
    assert REGISTRY.get_sample_value(metric, {"client": scene.upstream.client}) == before + 1
    assert "damaged rows of the registry left out: 1" in named[-1]


class LateNotes(BuildIndex):
    """The naive way: the ends are read after the scan."""

    async def __call__(self, schema: schema_pb2.Schema, rebuild: Rebuild) -> Built:
        generation = self._generations.create(schema)
        write = IndexWrite(Watermarks(), {})
        for shard in range(SHARDS):
            async for page in self._pages(shard, schema.epoch, rebuild):
                await asyncio.to_thread(generation.fill, write, page.decode()[0])
            rebuild.shards += 1
        rebuild.is_following = True
        write.watermarks = Watermarks.at(await self._receiver.queue_ends())
        ends = await self._topic.ends()
        generation.commit(write, ends)
        return Built(generation, ends)


@pytest.mark.parametrize("notes", ["before the scan", pytest.param("after the scan", marks=in_campaigns)])
async def test_scan_beside_writes_loses_nothing(scene: Scene, notes: str, monkeypatch: Any) -> None:
    """New, changed and removed documents throughout the scan: 2,000 a second in a campaign."""
    documents, rate = (20_000, 2_000) if IS_LONG else (2_000, 400)
    await scene.deliver(documents)
    await scene.upstream.delivered()
    searcher = scene.open_searcher()
    if notes == "after the scan":
        receiver, topic, generations = searcher.receiver, searcher.topic, searcher.generations
        searcher.keeper._build = LateNotes(receiver, topic, generations)
    is_scanned, written = asyncio.Event(), [0]
    scan_page = ReceiverClient.scan_page

    async def scan_slowly(self: ReceiverClient, shard: int, *position: Any) -> Any:
        page = await scan_page(self, shard, *position)
        await asyncio.sleep(0.05)  # 64 shards take at least three seconds, so that thousands of writes happen meanwhile
        return page

    monkeypatch.setattr(ReceiverClient, "scan_page", scan_slowly)

    async def write() -> None:
        began_s, step = time.monotonic(), 0
        while not is_scanned.is_set():
            step += 1
            changes = [make_upsert(f"k{(step * 97 + n * 193) % documents}", 1 + step) for n in range(rate // 6)]
            unique = {change.pk: change for change in changes}
            fresh = [make_upsert(f"new{step}-{n}") for n in range(rate // 20)]
            removed = [make_delete(f"new{step - 5}-{n}", 2) for n in range(rate // 40)] if step > 5 else []
            batch = [*unique.values(), *fresh, *removed]
            await scene.upstream.push(*batch)
            written[0] += len(batch)
            await asyncio.sleep(max(0.0, began_s + written[0] / rate - time.monotonic()))

    writing = asyncio.create_task(write())
    began_s = time.monotonic()
    try:
        searcher.start(verifies=True)
        await searcher.until(lambda: searcher.live.rebuild is not None and searcher.live.rebuild.is_following)
        seconds = time.monotonic() - began_s
    finally:
        is_scanned.set()
        await writing
    print(f"{written[0]} writes beside a scan of {seconds:.1f} s: {written[0] / seconds:.0f}/s")  # noqa: T201
    await searcher.until(lambda: searcher.is_whole)
    await scene.upstream.delivered()
    first = searcher.live.generation
    if notes == "before the scan":
        await searcher.settled()
        assert searcher.live.generation is first, "the digests were equal at once"
        assert searcher.versions() == await scene.upstream.live_versions()
        assert searcher.live.equal == SHARDS
    else:
        # Digests find it, and the index is rebuilt; meanwhile it is searched as it is.
        await searcher.until(lambda: bool(searcher.live.differing))


async def test_searcher_waits_for_a_receiver_that_is_away(scene: Scene) -> None:
    await scene.upstream.put_schema()
    await scene.upstream.push(make_upsert("a"))
    await scene.start_indexer()
    searcher = scene.open_searcher()
    is_away = [True]
    scan_page = searcher.receiver.scan_page

    async def fail(*position: Any) -> Any:
        if is_away[0]:
            raise Unavailable("UNAVAILABLE", "the receiver is away")
        return await scan_page(*position)

    searcher.receiver.scan_page = fail
    searcher.start()
    await searcher.until(lambda: "the receiver is away" in searcher.keeper.blocked().get(scene.upstream.client, ""))
    is_away[0] = False
    await searcher.until(lambda: searcher.versions() == {"a": 1})
    await searcher.until(lambda: not searcher.keeper.blocked())


async def _led(cluster: Cluster, topic: str) -> None:
    """Wait for the leaders of all partitions: a client without leaders considers Kafka unavailable."""
    async with asyncio.timeout(120):
        while True:
            with suppress(Unavailable):
                await cluster.ends([(topic, partition) for partition in range(SHARDS)])
                return
            await asyncio.sleep(0.1)
