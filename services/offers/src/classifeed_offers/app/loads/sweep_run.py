"""Complete a whole load: plan once, then make waiting changes and remove the offers that it lacks, slice by slice."""

from __future__ import annotations

from typing import NamedTuple

import structlog

from classifeed.feeds.v1.load_pb2 import HoldReason
from classifeed.feeds.v1.offer_results_pb2 import (
    TASK_END_OUTCOME_COMPLETED,
    TASK_END_OUTCOME_HELD,
    TASK_END_OUTCOME_INCOMPLETE,
    TASK_END_OUTCOME_STALE,
    TaskEndResult,
)
from classifeed_common.db import Tx
from classifeed_common.enum_names import name_of
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.completion import (
    Course,
    Guard,
    decide_end,
    decision_of,
    list_change_reasons,
    list_removal_reasons,
)
from classifeed_offers.domain.results import run_ended
from classifeed_offers.store import applying, sweeping, waiting
from classifeed_offers.store.sweeping import End

_log = structlog.get_logger(__name__)


class Step(NamedTuple):
    """Outcome of a step: whether more steps follow, and the result to send if this step ended the run."""

    more: bool
    result: TaskEndResult | None = None


async def sweep_step(tx: Tx, run: RunKey, *, guard: Guard, slice_offers: int = sweeping.SLICE_OFFERS) -> Step:
    """Do the next step of a run's sweep. Call it again in a new transaction while `more`.

    The caller's transaction keeps a second process out, and the result goes into the outbox in it. A crash between two
    steps loses nothing: each step deletes its work from the plan in the same transaction. Each step checks the head
    again: once a higher run has begun, this run may not remove anything.
    """
    end = await sweeping.lock_end(tx, run)
    if end is None or end.outcome is not None:
        return Step(more=False)
    if end.head != run.run:
        await sweeping.finish(tx, run, "STALE")
        return Step(more=False, result=run_ended(run, TASK_END_OUTCOME_STALE))
    if not end.planned:
        return await _plan(tx, run, end, guard, slice_offers)
    await applying.forbid_scans(tx)
    if await waiting.make_changes(tx, run, slice_offers):
        return Step(more=True)
    offer_ids = await sweeping.take_slice(tx, run)
    if offer_ids is None:
        await sweeping.finish(tx, run, "COMPLETED")
        return Step(more=False, result=_completed(run, end))
    if end.disposition == "MAKE_MANUAL":
        await sweeping.make_manual(tx, run, offer_ids)
    else:
        await sweeping.remove_offers(tx, run, offer_ids, with_manual=end.disposition == "DELETE_ALL")
    return Step(more=True)


async def _plan(tx: Tx, run: RunKey, end: End, guard: Guard, slice_offers: int) -> Step:
    """Find the offers that the run lacks and its waiting changes, and decide what happens to both."""
    plan = await sweeping.plan(tx, run, slice_offers, with_manual=end.disposition == "DELETE_ALL")
    changes = await waiting.count_changes(tx, run, guard.price_factor)
    loss = plan.loss
    # An ordinary load is not held even by the upper bound, so it needs no exact count.
    if list_removal_reasons(loss, guard) or list_change_reasons(changes, guard):
        loss = await sweeping.count_loss(tx, run, plan)
    decided = decide_end(loss, changes, guard, end.disposition, decision_of(end.decision))
    if decided.forgets_sizes:
        await sweeping.forget_sizes(tx, run.namespace)
    match decided.course:
        case Course.PROCEED:
            return Step(more=True)
        case Course.DROP:
            planned = await sweeping.lock_end(tx, run)  # includes the effects of sweeps of earlier runs
            assert planned is not None
            return Step(more=False, result=await drop_waiting(tx, run, planned, changes.waiting))
        case Course.HOLD:
            held = await waiting.describe_changes(tx, run, changes, guard.price_factor)
            if end.disposition != "MAKE_MANUAL" and loss.removals:
                held.MergeFrom(await sweeping.describe_lacking(tx, run, plan, loss))
            held.reasons.extend(decided.reasons)
            await sweeping.hold(tx, run, held)
            _log.warning(
                "load.held",
                **run.names,
                reasons=[name_of(HoldReason, reason) for reason in held.reasons],
                removals=held.removals,
                offers=held.offers,
                renamed=held.renamed,
                moved_prices=held.moved_prices,
                changed_prices=held.changed_prices,
                turned_unavailable=held.turned_unavailable,
            )
            return Step(more=False, result=run_ended(run, TASK_END_OUTCOME_HELD, hold=held))


async def drop_waiting(tx: Tx, run: RunKey, end: End, changes: int) -> TaskEndResult:
    """End a planned run that was rejected, drop its waiting `changes`, and return the result to send."""
    kept = await sweeping.count_lacking(tx, run)
    await sweeping.finish(tx, run, "COMPLETED", kept=kept, dropped=changes)
    return _completed(run, end._replace(kept=kept, dropped=end.dropped + changes))


def _completed(run: RunKey, end: End) -> TaskEndResult:
    return run_ended(
        run,
        TASK_END_OUTCOME_COMPLETED,
        removed=end.removed,
        made_manual=end.made_manual,
        kept=end.kept,
        changed=end.changed,
        dropped=end.dropped,
    )


async def sweep_at_once(tx: Tx, run: RunKey, *, guard: Guard, most_offers: int) -> TaskEndResult | None:
    """Do all steps of a run's sweep in one transaction, if its namespace has at most `most_offers` offers.

    Returns:
        The result to send; None: the namespace is larger, or nothing is left to do.
    """
    if not await sweeping.has_at_most(tx, run.namespace, most_offers):
        return None
    step = Step(more=True)
    while step.more:
        step = await sweep_step(tx, run, guard=guard, slice_offers=most_offers)
    return step.result


async def abandon_sweep(tx: Tx, run: RunKey) -> TaskEndResult | None:
    """End a sweep that no job continues, and return the result to send; None: the sweep has ended already.

    The run ends as INCOMPLETE: the load is sent again, and given up after its third run. The offers that the sweep has
    removed so far were not in the load.
    """
    end = await sweeping.lock_end(tx, run)
    if end is None or end.outcome is not None:
        return None
    if end.head != run.run:
        await sweeping.finish(tx, run, "STALE")
        return run_ended(run, TASK_END_OUTCOME_STALE)
    await sweeping.finish(tx, run, "INCOMPLETE")
    return run_ended(run, TASK_END_OUTCOME_INCOMPLETE)
