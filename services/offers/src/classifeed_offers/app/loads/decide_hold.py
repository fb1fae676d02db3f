"""Take a decision about a load that was held, or would be."""

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
    """What becomes of an end that comes again: its result now, or else whether it has still to be swept."""

    result: TaskEndResult | None = None
    is_open: bool = False


async def decide_hold(tx: Tx, run: RunKey, decision: HoldDecision) -> Decided:
    """Take the decision of a repeated end, if it is the first one about the run; nothing else changes anything.

    A held run gives way to a higher one that has begun, whatever was decided. A decision about a run whose sweep is not
    planned yet counts when it is; once the sweep has begun, there is nothing to decide any more.

    Returns:
        The result of a run that is held, gives way or is rejected; for any other whether it has still to be swept.
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
