"""Versions of offers and their marks never fall, even with late processes and clock changes."""

from __future__ import annotations

import asyncio

import pytest

from classifeed.feeds.v1.load_pb2 import DISPOSITION_MAKE_MANUAL
from classifeed.feeds.v1.offer_requests_pb2 import HOLD_DECISION_CONFIRM
from classifeed_common.db import fetch_as
from classifeed_devkit.testing.recovery import until
from classifeed_offers.domain.documents import DueOffer
from classifeed_offers.domain.moderation import ByVerdicts
from classifeed_offers.store import publishing, republishing
from classifeed_offers.store.republishing import Scope

from ...conftest import Load, Owner, Records

TOMORROW = 4_000_000_000_000_000


@pytest.mark.parametrize("way", ["updated", "removed", "made manual"])
async def test_a_version_is_above_the_one_before_when_the_clock_steps_back(
    owner: Owner, records: Records, new_load: type[Load], way: str
) -> None:
    await owner.load(new_load([records.good("a")]))
    async with owner.database.transaction() as tx:
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
    """A pusher that paused past its lease may write the mark after the next pusher."""
    await owner.load(new_load([records.good("a")]))
    async with owner.database.transaction() as tx:
        cursor = await tx.execute("UPDATE offers SET version = 7, published_version = 5 RETURNING offer_id")
        [(offer_id,)] = await cursor.fetchall()
        for pushed, mark in ((3, 5), (6, 6), (7, 7), (6, 7)):
            await tx.execute(publishing.ADVANCE, {"offer_ids": [offer_id], "versions": [pushed]})
            cursor = await tx.execute("SELECT published_version FROM offers")
            assert await cursor.fetchone() == (mark,)


async def list_due(owner: Owner) -> list[str]:
    async with owner.database.transaction() as tx:
        rows = await fetch_as(tx, DueOffer, publishing.SELECT_DUE, {"limit": 500, "above": 0})
    return [row.external_id for row in rows]


@pytest.mark.parametrize("change", ["changed", "removed"])
async def test_a_new_offer_that_waits_is_published_with_its_first_change(
    owner: Owner, records: Records, new_load: type[Load], change: str
) -> None:
    """The search never had it, so there is nothing to remove while it waits."""
    owner.moderation = ByVerdicts()
    await owner.load(new_load([records.good("a")]))
    assert await list_due(owner) == []
    if change == "changed":
        await owner.load(new_load([records.good("a", price=50)], task=2))
    else:
        await owner.load(new_load([], task=2, decision=HOLD_DECISION_CONFIRM))
    assert await list_due(owner) == ["a"]


async def test_a_new_offer_that_needs_no_verdict_is_published_at_once(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    await owner.load(new_load([records.good("a")]))
    assert await list_due(owner) == ["a"]


async def test_after_a_republication_a_new_offer_is_published_before_its_verdict(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    """A restored table has lost offers that are still searchable: a load that brings them again hides them."""
    owner.moderation = ByVerdicts()
    async with owner.database.transaction() as tx:
        await republishing.insert_request(tx, "went back", Scope(), None)
    await owner.load(new_load([records.good("a")]))
    assert await list_due(owner) == ["a"]


async def test_a_republication_begins_while_a_new_offer_is_inserted(
    owner: Owner, records: Records, new_load: type[Load]
) -> None:
    """Its insert looked for republications before there was one, and the marks are reset before it commits."""
    owner.moderation = ByVerdicts()

    async def republish() -> None:
        async with owner.database.transaction() as tx:
            await republishing.insert_request(tx, "went back", Scope(), None)
        async with owner.database.transaction() as tx:
            await republishing.reset_slice(tx, Scope(), Scope().begin, 500)

    async def list_waiting() -> set[str]:
        async with owner.database.transaction() as tx:
            rows = await (await tx.execute("SELECT DISTINCT locktype FROM pg_locks WHERE NOT granted")).fetchall()
        return {kind for (kind,) in rows}

    async def is_inserted() -> bool:
        return "relation" in await list_waiting()

    async def is_republished_or_waits() -> bool:
        return beginning.done() or "advisory" in await list_waiting()

    async with owner.database.transaction() as blocker:
        await blocker.execute("LOCK TABLE applied_batches IN SHARE MODE")  # written after the offers
        loading = asyncio.create_task(owner.load(new_load([records.good("a")])))
        await until(is_inserted)
        beginning = asyncio.create_task(republish())
        await until(is_republished_or_waits)
    await asyncio.gather(loading, beginning)
    assert await list_due(owner) == ["a"]
