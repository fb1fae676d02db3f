"""Decide about a load that is held, or may be held later."""

from __future__ import annotations

from typing import NamedTuple

import structlog

from classifeed.feeds.v1.load_pb2 import LoadHold
from classifeed.feeds.v1.offer_requests_pb2 import HoldDecision
from classifeed.feeds.v1.offer_results_pb2 import TASK_END_OUTCOME_HELD, TASK_END_OUTCOME_STALE, TaskEndResult
from classifeed_common.db import Tx
from classifeed_offers.app.loads.sweep_run import drop_waiting
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.completion import is_final, name_of_decision
from classifeed_offers.domain.results import run_ended
from classifeed_offers.store import sweeping

_log = structlog.get_logger(__name__)


class Decided(NamedTuple):
    """Outcome of a repeated end: its result, or whether the run must still be swept."""

    result: TaskEndResult | None = None
    is_open: bool = False


async def decide_hold(tx: Tx, run: RunKey, decision: HoldDecision) -> Decided:
    """Record the decision of a repeated end if it is the first decision about the run.

    A held run gives way to a higher run that has begun, regardless of the decision. A decision about a run whose sweep
    is not planned yet takes effect when the sweep is planned. Once the sweep has begun, a decision changes nothing.

    Returns:
        The result of a run that is held, gives way or is rejected; for any other run, whether it must still be swept.
    """
    end = await sweeping.lock_end(tx, run)
    if end is None:
        return Decided()
    is_held = end.outcome == "HELD"
    held = LoadHold.FromString(end.hold or b"")
    if is_held and end.head != run.run:
        await sweeping.finish(tx, run, "STALE")
        return Decided(run_ended(run, TASK_END_OUTCOME_STALE))
    name = name_of_decision(decision) if is_final(decision) else None
    if name is None or not await sweeping.decide(tx, run, name):
        result = run_ended(run, TASK_END_OUTCOME_HELD, hold=held) if is_held else None
        return Decided(result, is_open=end.outcome is None)
    _log.info("load.decided", **run.names, decision=name, removals=held.removals, changes=held.changes)
    if not is_held:
        return Decided(is_open=True)
    if name == "REJECT":
        return Decided(await drop_waiting(tx, run, end, held.changes))
    await sweeping.forget_sizes(tx, run.namespace)
    return Decided(is_open=True)
