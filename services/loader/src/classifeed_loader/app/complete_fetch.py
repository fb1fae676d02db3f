"""Completes a fetch: stores its outcome and schedules the next fetch of its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import structlog

from classifeed.feeds.v1.feed_pb2 import FetchOutcome
from classifeed_common.db import Tx
from classifeed_common.enum_names import name_of
from classifeed_common.ids import new_incident
from classifeed_jobs import FailedJob
from classifeed_loader.domain.completions import Completion, failed
from classifeed_loader.domain.faults import LoadFailed
from classifeed_loader.domain.fetches import FetchKey
from classifeed_loader.metrics import FETCHES
from classifeed_loader.store import fetching

_log = structlog.get_logger(__name__)
_CANCELED: Final = ("FETCH_CANCELED", "The operator canceled the fetch before it completed")
_FAILED: Final = ("INTERNAL_FAULT", "The fetch cannot continue because of an internal fault")
_BY_REASON: Final[Mapping[str, tuple[str, str]]] = {
    "QUARANTINED": ("QUARANTINED", "The process was killed three times while it fetched the file"),
    "UNKNOWN_FAULTS": ("INTERNAL_FAULT", "The fetch failed five times because of an internal fault"),
}


class FetchWaits(NamedTuple):
    """Waits of a source between fetches.

    Attributes:
        min_interval_s: shortest time between two fetches, in seconds.
        backoff_base_s: base of the back-off after failures, in seconds.
    """

    min_interval_s: float
    backoff_base_s: float


async def complete_fetch(tx: Tx, key: FetchKey, completion: Completion, waits: FetchWaits) -> None:
    """Complete an open fetch and schedule the next one of its source."""
    source = await fetching.lock_source(tx, key)
    fetch = await fetching.find_fetch(tx, key)
    assert source is not None
    assert fetch is not None
    await fetching.end(tx, key, completion)
    if source.feed_version != fetch.feed_version:
        # The outcome does not concern the newer version, whose slot may have been skipped during this fetch.
        await fetching.make_due(tx, key)
    elif completion.is_failure:
        await fetching.note_failure(
            tx,
            key,
            min_interval_s=waits.min_interval_s,
            backoff_base_s=waits.backoff_base_s,
            retry_after_s=completion.retry_after_s,
        )
    else:
        await fetching.note_success(tx, key, min_interval_s=waits.min_interval_s)


def report_completion(key: FetchKey, completion: Completion) -> None:
    """Count and log a completion."""
    outcome = name_of(FetchOutcome, completion.outcome)
    FETCHES.labels(outcome, completion.code).inc()
    _log.info("fetch.ended", fetch=key.name, outcome=outcome, code=completion.code, feed_task=completion.task)


async def fail_fetch(tx: Tx, key: FetchKey, job: FailedJob, waits: FetchWaits) -> None:
    """Complete the open fetch of a job that failed permanently: no job will run it again."""
    # All writers lock the source before its fetches.
    source = await fetching.lock_source(tx, key)
    fetch = await fetching.find_fetch(tx, key)
    if source is None or fetch is None or fetch.is_ended:
        return
    incident = job.incident or new_incident()
    code, what = _CANCELED if job.outcome == "canceled" else _BY_REASON.get(job.reason, _FAILED)
    completion = failed(LoadFailed(code, f"{what} (incident {incident})"))
    _log.error(
        "fetch.abandoned",
        fetch=key.name,
        code=code,
        incident=incident,
        job_id=str(job.job_id),
        attempt=job.attempt,
        outcome=job.outcome,
        message=job.message,
    )
    await complete_fetch(tx, key, completion, waits)
    report_completion(key, completion)
