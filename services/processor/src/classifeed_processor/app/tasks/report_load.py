"""Report each load to the log and the metrics: its start, its resumption, and its end.

Each event is reported once, after its commit. A process that is killed right after a commit loses the report, but the
task has all data.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import structlog

from classifeed.feeds.v1.load_pb2 import HoldReason, LoadHold
from classifeed.feeds.v1.offer_results_pb2 import OfferCounts
from classifeed_common.db import Tx, after_commit
from classifeed_common.enum_names import name_of
from classifeed_processor.domain.statistics import OUTCOMES
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.metrics import LOAD_DURATION, LOADS, OFFERS
from classifeed_processor.store.loads import Load, get_load

_log = structlog.get_logger(__name__)


async def report_begin(tx: Tx, key: TaskKey, run: int, *, is_first: bool) -> None:
    """Report that a run of a load begins, in the transaction that begins it.

    Args:
        tx: open transaction.
        key: key of the task.
        run: number of the run.
        is_first: whether it is the first run; otherwise the load is restarted.
    """
    after_commit(tx, partial(_log_begin, key, run, await get_load(tx, key), is_first=is_first))


def report_resumption(tx: Tx, key: TaskKey, run: int) -> None:
    """Report that a stalled run continues."""
    after_commit(tx, partial(_log.info, "feeds.load.resumed", **_names(key), run=run, begins_anew=False))


def report_held(tx: Tx, key: TaskKey, hold: LoadHold) -> None:
    """Report that a load waits for a decision, in the transaction that holds it."""
    counts = {"removals": hold.removals, "offers": hold.offers, "changes": hold.changes}
    reasons = [name_of(HoldReason, reason) for reason in hold.reasons]
    after_commit(tx, partial(_log.warning, "feeds.load.held", **_names(key), reasons=reasons, **counts))


def report_offers(tx: Tx, counts: OfferCounts) -> None:
    """Count the outcomes of a batch's offers, in the transaction that applies its reply."""
    found = {outcome: getattr(counts, outcome) for outcome in OUTCOMES}
    after_commit(tx, partial(_count_offers, found))


async def report_end(tx: Tx, key: TaskKey) -> None:
    """Report and count the end of a load, in the transaction that ends it."""
    after_commit(tx, partial(_log_end, key, await get_load(tx, key)))


def _names(key: TaskKey) -> dict[str, Any]:
    return {"seller": key.seller_id, "namespace": key.namespace, "task": key.task_id}


def _log_begin(key: TaskKey, run: int, load: Load, *, is_first: bool) -> None:
    if not is_first:
        _log.info("feeds.load.resumed", **_names(key), run=run, begins_anew=True)
        return
    _log.info(
        "feeds.load.started",
        **_names(key),
        run=run,
        kind=load.kind_name,
        source=load.source,
        bytes=load.source_bytes,
        format=load.format_wanted or "any",
        waited_s=_rounded(load.waited_s),
    )


def _log_end(key: TaskKey, load: Load) -> None:
    labels = load.kind_name, load.status_name
    LOADS.labels(*labels).inc()
    if load.duration_s is not None:
        LOAD_DURATION.labels(*labels).observe(load.duration_s)
    _count_offers({"removed": load.counts["removed"]})
    _log.info(
        "feeds.load.ended",
        **_names(key),
        status=load.status_name,
        code=load.error_code,
        kind=load.kind_name,
        source=load.source,
        bytes=load.source_bytes,
        format=load.format,
        **load.counts,
        waited_s=_rounded(load.waited_s),
        duration_s=_rounded(load.duration_s),
    )


def _count_offers(counts: Mapping[str, int]) -> None:
    for outcome, count in counts.items():
        if count:
            OFFERS.labels(outcome).inc(count)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
