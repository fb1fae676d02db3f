"""Reads and writes of a sweep: what a whole load lacks, slice by slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from classifeed_common.db import Tx, load_queries
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.offers import Namespace, Run

SQL = load_queries(__package__, "sweeping.sql")
_HAS_AT_MOST = SQL["has_at_most"]
_LOCK_END = SQL["lock_end"]
_PLAN_SLICES = SQL["plan_slices"]
_COUNT_SWEPT_BEFORE = SQL["count_swept_before"]
_MARK_PLANNED = SQL["mark_planned"]
_TAKE_SLICE = SQL["take_slice"]
_REMOVE_OFFERS = SQL["remove_offers"]
_MAKE_MANUAL = SQL["make_manual"]
_COUNT_SWEPT = SQL["count_swept"]
_FINISH_END = SQL["finish_end"]
_DROP_SLICES = SQL["drop_slices"]
_DROP_SEEN = SQL["drop_seen"]

SLICE_OFFERS: Final = 1000


class End(NamedTuple):
    """A run's end as recorded, beside the head of its namespace; the head is locked until the transaction ends."""

    head: Run
    outcome: str | None
    planned: bool
    disposition: str
    removed: int
    made_manual: int


class Plan(NamedTuple):
    """How many offers the namespace's feed has, and how many of them the load lacks."""

    present: int
    lacking: int


async def has_at_most(tx: Tx, namespace: Namespace, offers: int) -> bool:
    """Tell whether a namespace has so many offers or fewer, removed ones among them; reads no more than that."""
    values = {"seller": namespace.seller_id, "namespace": namespace.namespace, "offers": offers}
    row = await (await tx.execute(_HAS_AT_MOST, values)).fetchone()
    return row is not None and bool(row[0])


async def lock_end(tx: Tx, key: RunKey) -> End | None:
    """Return the end of a run, locked; None when there is none."""
    row = await (await tx.execute(_LOCK_END, _values(key))).fetchone()
    return None if row is None else End(Run(row[0], row[1]), *row[2:])


async def plan(tx: Tx, key: RunKey, slice_offers: int = SLICE_OFFERS) -> Plan:
    """Store the slices of what the run lacks. Reads the whole namespace once."""
    row = await (await tx.execute(_PLAN_SLICES, _values(key) | {"slice_size": slice_offers})).fetchone()
    assert row is not None
    before = await (await tx.execute(_COUNT_SWEPT_BEFORE, _values(key))).fetchone()
    assert before is not None
    removed, made_manual = before
    await tx.execute(_MARK_PLANNED, _values(key) | {"removed": removed, "made_manual": made_manual})
    return Plan(*row)


async def take_slice(tx: Tx, key: RunKey) -> list[int] | None:
    """Return the next slice's offers and forget it, both with this transaction; None when there is none left."""
    row = await (await tx.execute(_TAKE_SLICE, _values(key))).fetchone()
    return None if row is None else row[0]


async def remove_offers(tx: Tx, key: RunKey, offer_ids: Sequence[int]) -> None:
    """Remove offers of the feed, and count them. The caller holds the head."""
    cursor = await tx.execute(_REMOVE_OFFERS, {"offer_ids": offer_ids, "task": key.run.task_id})
    await tx.execute(_COUNT_SWEPT, _values(key) | {"removed": cursor.rowcount, "made_manual": 0})


async def make_manual(tx: Tx, key: RunKey, offer_ids: Sequence[int]) -> None:
    """Keep offers of the feed by hand from now on, and count them. The caller holds the head."""
    cursor = await tx.execute(_MAKE_MANUAL, {"offer_ids": offer_ids, "task": key.run.task_id})
    await tx.execute(_COUNT_SWEPT, _values(key) | {"removed": 0, "made_manual": cursor.rowcount})


async def finish(tx: Tx, key: RunKey, outcome: str) -> None:
    """Record the outcome, and drop what only the sweep needed: `seen` and slices of this run and those below it."""
    await tx.execute(_FINISH_END, _values(key) | {"outcome": outcome})
    await tx.execute(_DROP_SLICES, _values(key))
    await tx.execute(_DROP_SEEN, _values(key))


def _values(key: RunKey) -> dict[str, Any]:
    return {
        "seller": key.namespace.seller_id,
        "namespace": key.namespace.namespace,
        "task": key.run.task_id,
        "run": key.run.run,
    }
