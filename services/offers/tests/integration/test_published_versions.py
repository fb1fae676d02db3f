"""Versions of offers and their marks never fall, whoever is late and whatever the clock does."""

from __future__ import annotations

import pytest

from classifeed.feeds.v1.load_pb2 import DISPOSITION_MAKE_MANUAL
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_CONFIRM
from classifeed_offers.store import publishing

from ..conftest import Load, Owner, Records

TOMORROW = 4_000_000_000_000_000


@pytest.mark.parametrize("way", ["updated", "removed", "made manual"])
async def test_a_version_is_above_the_one_before_when_the_clock_steps_back(
    owner: Owner, records: Records, new_load: type[Load], way: str
) -> None:
    await owner.load(new_load([records.good("a")]))
    async with owner.db.transaction() as tx:
        await tx.execute("UPDATE offers SET version = %s", (TOMORROW,))
    match way:
        case "updated":
            await owner.load(new_load([records.good("a", price=50)], task=2))
        case "removed":
            await owner.load(new_load([], task=2, decision=HOLD_DECISION_CONFIRM))
        case "made manual":
            await owner.load(new_load([], task=2, disposition=DISPOSITION_MAKE_MANUAL))
    assert (await owner.rows())["a"][6] == TOMORROW + 1


async def test_the_mark_moves_by_version_and_never_falls(owner: Owner, records: Records, new_load: type[Load]) -> None:
    """A pusher that stood still past its lease may be the second one to write the mark."""
    await owner.load(new_load([records.good("a")]))
    async with owner.db.transaction() as tx:
        cursor = await tx.execute("UPDATE offers SET version = 7, published_version = 5 RETURNING offer_id")
        [(offer_id,)] = await cursor.fetchall()
        for pushed, mark in ((3, 5), (6, 6), (7, 7), (6, 7)):
            await tx.execute(publishing.ADVANCE, {"offer_ids": [offer_id], "versions": [pushed]})
            cursor = await tx.execute("SELECT published_version FROM offers")
            assert await cursor.fetchone() == (mark,)
