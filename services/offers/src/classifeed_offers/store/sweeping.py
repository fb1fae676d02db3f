"""Reads and writes of a sweep: the offers that a whole load lacks, slice by slice, and held loads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from classifeed.feeds.v1.load_pb2 import HeldOffer, LoadHold
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.completion import Loss
from classifeed_offers.domain.offers import Namespace, Run
from classifeed_offers.store.runs import run_values

_SQL: Final = load_queries(__package__, "sweeping.sql")
_HAS_AT_MOST = _SQL["has_at_most"]
_LOCK_END = _SQL["lock_end"]
_PLAN_SLICES = _SQL["plan_slices"]
_COUNT_SWEPT_BEFORE = _SQL["count_swept_before"]
_MARK_PLANNED = _SQL["mark_planned"]
_TAKE_SLICE = _SQL["take_slice"]
_REMOVE_OFFERS = _SQL["remove_offers"]
_MAKE_MANUAL = _SQL["make_manual"]
_COUNT_SWEPT = _SQL["count_swept"]
_FORGET_SIZES = _SQL["forget_sizes"]
_COUNT_SHOWN = _SQL["count_shown"]
_COUNT_LACKING = _SQL["count_lacking"]
_SAMPLE_LACKING = _SQL["sample_lacking"]
_FIND_RENAMED = _SQL["find_renamed"]
_HOLD_END = _SQL["hold_end"]
_DECIDE_END = _SQL["decide_end"]
_FINISH_END = _SQL["finish_end"]
_DROP_SLICES = _SQL["drop_slices"]
_DROP_SEEN = _SQL["drop_seen"]

SLICE_OFFERS: Final = 1000
_SAMPLE_OFFERS: Final = 10
_TITLE_CHARS: Final = 200
# At most 200,000 offers are compared with as many.
_COMPARED: Final = {"slices": 200, "batches": 2000}


class End(NamedTuple):
    """A run's recorded end, with the head of its namespace; the head is locked until the transaction ends."""

    head: Run
    outcome: str | None
    planned: bool
    disposition: str
    removed: int
    made_manual: int
    kept: int
    changed: int
    dropped: int
    decision: str | None
    hold: bytes | None


class Plan(NamedTuple):
    """Offers that a run lacks, and the last earlier task that completed its removals.

    Attributes:
        loss: upper bound of the loss: includes offers that are not shown, or that came with loads nobody accepted.
        accepted_task: id of that task; if there is none, the number before this run's task.
        accepted_at: time when its end arrived; None: there is none.
    """

    loss: Loss
    accepted_task: int
    accepted_at: datetime | None


async def has_at_most(tx: Tx, namespace: Namespace, offers: int) -> bool:
    """Return whether a namespace has at most `offers` offers, including removed ones; reads no more than that."""
    values = {"seller": namespace.seller_id, "namespace": namespace.namespace, "offers": offers}
    row = await (await tx.execute(_HAS_AT_MOST, values)).fetchone()
    return row is not None and bool(row[0])


async def lock_end(tx: Tx, key: RunKey) -> End | None:
    """Return the end of a run, locked; None if there is none."""
    for row in await fetch_named(tx, _LOCK_END, run_values(key)):
        columns = row._asdict()
        return End(Run(columns.pop("task_id"), columns.pop("run")), **columns)
    return None


async def plan(tx: Tx, key: RunKey, slice_offers: int = SLICE_OFFERS, *, with_manual: bool = False) -> Plan:
    """Store the slices of offers that the run lacks. Reads the whole namespace once.

    Args:
        tx: transaction of the sweep.
        key: identity of the run.
        slice_offers: offers per slice.
        with_manual: whether offers that are kept by hand are included.
    """
    parameters = run_values(key) | {"slice_size": slice_offers, "with_manual": with_manual}
    row = await (await tx.execute(_PLAN_SLICES, parameters)).fetchone()
    assert row is not None
    before = await (await tx.execute(_COUNT_SWEPT_BEFORE, run_values(key))).fetchone()
    assert before is not None
    removed, made_manual = before
    await tx.execute(_MARK_PLANNED, run_values(key) | {"removed": removed, "made_manual": made_manual})
    offers, lacking, most_before, is_empty, *accepted = row
    return Plan(Loss(offers, lacking, lacking, most_before, is_empty), *accepted)


async def count_loss(tx: Tx, key: RunKey, plan: Plan) -> Loss:
    """Return the exact loss of a planned run. Reads each offer that the run lacks."""
    row = await (await tx.execute(_COUNT_SHOWN, run_values(key) | _accepted(plan))).fetchone()
    assert row is not None
    return plan.loss._replace(lacking=row[0], unseen=row[1])


async def count_lacking(tx: Tx, key: RunKey) -> int:
    """Return the number of offers in the slices of a run, regardless of their status."""
    row = await (await tx.execute(_COUNT_LACKING, run_values(key))).fetchone()
    assert row is not None
    return int(row[0])


async def describe_lacking(tx: Tx, key: RunKey, plan: Plan, loss: Loss) -> LoadHold:
    """Return counts and examples of the offers that a planned run would remove, without the reasons."""
    values = run_values(key) | _accepted(plan)
    sample = await (await tx.execute(_SAMPLE_LACKING, values | {"limit": _SAMPLE_OFFERS})).fetchall()
    renamed = await (await tx.execute(_FIND_RENAMED, values | _COMPARED)).fetchone()
    assert renamed is not None
    count, (renamed_from, renamed_to) = renamed[0], renamed[1] or ("", "")
    return LoadHold(
        removals=loss.removals,
        offers=max(loss.baseline, loss.removals),
        sample_offers=[
            HeldOffer(external_id=external_id, title=OfferContent.FromString(content).title[:_TITLE_CHARS])
            for external_id, content in sample
        ],
        renamed=count,
        renamed_from=renamed_from,
        renamed_to=renamed_to,
    )


async def hold(tx: Tx, key: RunKey, held: LoadHold) -> None:
    """Record that a planned run waits for a decision; its slices stay."""
    await tx.execute(_HOLD_END, run_values(key) | {"hold": held.SerializeToString()})


async def decide(tx: Tx, key: RunKey, decision: str) -> bool:
    """Record a decision, CONFIRM or REJECT, so that the sweep continues; return False if the decision is too late."""
    return (await tx.execute(_DECIDE_END, run_values(key) | {"decision": decision})).rowcount > 0


async def forget_sizes(tx: Tx, namespace: Namespace) -> None:
    """Delete the sizes of a namespace before its loads of the last days."""
    await tx.execute(_FORGET_SIZES, {"seller": namespace.seller_id, "namespace": namespace.namespace})


async def take_slice(tx: Tx, key: RunKey) -> list[int] | None:
    """Return and delete the next slice of offers; None if none is left."""
    row = await (await tx.execute(_TAKE_SLICE, run_values(key))).fetchone()
    return None if row is None else row[0]


async def remove_offers(tx: Tx, key: RunKey, offer_ids: Sequence[int], *, with_manual: bool = False) -> None:
    """Remove offers of the feed, optionally including manual ones, and count them. The caller holds the head."""
    parameters = {"offer_ids": offer_ids, "task": key.run.task_id, "with_manual": with_manual}
    cursor = await tx.execute(_REMOVE_OFFERS, parameters)
    await tx.execute(_COUNT_SWEPT, run_values(key) | {"removed": cursor.rowcount, "made_manual": 0})


async def make_manual(tx: Tx, key: RunKey, offer_ids: Sequence[int]) -> None:
    """Make offers of the feed manual, and count them. The caller holds the head."""
    cursor = await tx.execute(_MAKE_MANUAL, {"offer_ids": offer_ids, "task": key.run.task_id})
    await tx.execute(_COUNT_SWEPT, run_values(key) | {"removed": 0, "made_manual": cursor.rowcount})


async def finish(tx: Tx, key: RunKey, outcome: str, *, kept: int = 0, dropped: int = 0) -> None:
    """Record the outcome, and delete sweep data of this run and of lower runs.

    Changes that still wait no longer count; the clean-up removes them.

    Args:
        tx: transaction of the sweep.
        key: identity of the run.
        outcome: outcome of the run.
        kept: number of offers that the load lacks and that stay.
        dropped: number of changes that are not made.
    """
    await tx.execute(_FINISH_END, run_values(key) | {"outcome": outcome, "kept": kept, "dropped": dropped})
    await drop_plans(tx, key)


async def drop_plans(tx: Tx, key: RunKey) -> None:
    """Delete the slices of a run and of lower runs, and clear `seen` of their batches."""
    await tx.execute(_DROP_SLICES, run_values(key))
    await tx.execute(_DROP_SEEN, run_values(key))


def _accepted(plan: Plan) -> dict[str, Any]:
    return {"accepted_task": plan.accepted_task, "accepted_at": plan.accepted_at}
