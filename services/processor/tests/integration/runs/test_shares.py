"""Shares of the slots and of the window: many files of one seller delay only this seller (ADR 0035)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from classifeed.feeds.v1 import task_pb2
from classifeed_processor.app.runs.limit_sellers import SellerWindows

from ...conftest import WriteOffer, WriteYml
from ..conftest import MakeProcessor

SUCCEEDED = task_pb2.TASK_STATUS_SUCCEEDED


@pytest.mark.kafka
@pytest.mark.parametrize("is_shared", [True, False], ids=["shares", "naive"])
async def test_files_of_one_seller_leave_slots_to_another(
    make_processor: MakeProcessor,
    yml: WriteYml,
    offer: WriteOffer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_shared: bool,
) -> None:
    """The service offers replies to none of the flood's batches, so its runs keep their slots and windows."""
    if not is_shared:
        monkeypatch.setattr("classifeed_jobs.worker.worker.Worker._slots", lambda *_: None)
    processor = await make_processor(window_batches=24, stall_s=3600)
    heavy = await processor.put(yml(*(offer(f"a{n}") for n in range(4000))), tmp_path)
    small = await processor.put(yml(offer("b1"), offer("b2"), offer("b3")), tmp_path)
    for number in range(8):
        await processor.create(heavy, f"heavy{number}", seller_id="flood", namespace=f"n{number}")

    async def full_windows() -> list[int]:
        async with processor.database.transaction() as tx:
            cursor = await tx.execute("SELECT count(*) FROM offer_batches GROUP BY seller_id, namespace")
            return [row[0] for row in await cursor.fetchall()]

    processor.start()
    async with asyncio.timeout(120):
        while len(await full_windows()) < (2 if is_shared else 4):
            await asyncio.sleep(0.05)
    key = await processor.create(small)
    if is_shared:
        assert (await processor.wait_end(key)).status == SUCCEEDED
        counts = await full_windows()
        assert len(counts) == 3, "more than half of the four slots"
        # The first run may have filled the window before the second one came with a chunk of 8 batches.
        assert sum(counts) <= 24 + 8 + 1, "two runs have more than the window of their seller"
    else:
        with pytest.raises(TimeoutError):
            await processor.wait_end(key, limit_s=2)


@pytest.mark.kafka
async def test_task_queued_by_the_version_before_is_run(
    make_processor: MakeProcessor, yml: WriteYml, offer: WriteOffer, tmp_path: Path
) -> None:
    processor = await make_processor()
    key = await processor.create(await processor.put(yml(offer("a")), tmp_path))
    async with processor.database.transaction() as tx:
        assert (await tx.execute("UPDATE dl_jobs SET partition_key = NULL")).rowcount == 1
    processor.start()
    assert (await processor.wait_end(key)).status == SUCCEEDED


def test_runs_of_one_seller_share_its_window_and_others_have_their_own() -> None:
    windows = SellerWindows(10)
    with windows.open("a") as first:
        assert first() == 10
        with windows.open("a") as second, windows.open("a"), windows.open("b") as other:
            assert (first(), second(), other()) == (3, 3, 10)
        assert first() == 10
    narrow = SellerWindows(1)
    with narrow.open("a") as one, narrow.open("a"):
        assert one() == 1
