"""Shares of the slots and of the window: many files of one seller delay only this seller (ADR 0035)."""

from __future__ import annotations

import asyncio

import pytest

from classifeed.feeds.v1 import task_pb2
from classifeed_processor.app.runs.limit_sellers import SellerWindows

from ..conftest import Scene

SUCCEEDED = task_pb2.TASK_STATUS_SUCCEEDED


@pytest.mark.kafka
@pytest.mark.parametrize("is_shared", [True, False], ids=["shares", "naive"])
async def test_files_of_one_seller_leave_slots_to_another(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, is_shared: bool
) -> None:
    """The service offers replies to none of the flood's batches, so its runs keep their slots and windows."""
    if not is_shared:
        monkeypatch.setattr("classifeed_jobs.worker.worker.Worker._slots", lambda *_: None)
    scene.limit(window_batches=24, stall_s=3600)
    heavy = await scene.file(*scene.offers(4000))
    small = await scene.file(*scene.offers(3, "b"))
    for number in range(8):
        await scene.create(heavy, f"heavy{number}", seller_id="flood", namespace=f"n{number}")

    async def full_windows() -> list[int]:
        return [
            count for (count,) in await scene.sql("SELECT count(*) FROM offer_batches GROUP BY seller_id, namespace")
        ]

    scene.start()
    async with asyncio.timeout(120):
        while len(await full_windows()) < (2 if is_shared else 4):
            await asyncio.sleep(0.05)
    key = await scene.create(small)
    if is_shared:
        assert (await scene.wait_end(key)).status == SUCCEEDED
        counts = await full_windows()
        assert len(counts) == 3, "more than half of the four slots"
        # The first run may have filled the window before the second one came with a chunk of 8 batches.
        assert sum(counts) <= 24 + 8 + 1, "two runs have more than the window of their seller"
    else:
        with pytest.raises(TimeoutError):
            await scene.wait_end(key, limit_s=2)


@pytest.mark.kafka
async def test_task_queued_by_the_version_before_is_run(scene: Scene) -> None:
    key = await scene.upload(scene.offer("a"))
    assert await scene.sql("UPDATE dl_jobs SET partition_key = NULL RETURNING 1") == [(1,)]
    scene.start()
    assert (await scene.wait_end(key)).status == SUCCEEDED


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
