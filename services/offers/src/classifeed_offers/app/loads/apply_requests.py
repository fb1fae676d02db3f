"""Apply a poll of requests: batches and ends of runs of several sellers, in order, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import structlog
from google.protobuf.message import Message as ProtobufMessage
from opentelemetry.context import Context

from classifeed.feeds.v1.load_pb2 import LOAD_MODE_PATCH, Disposition
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, RunCheck, TaskEnd
from classifeed.feeds.v1.offer_results_pb2 import (
    TASK_END_OUTCOME_COMPLETED,
    TASK_END_OUTCOME_INCOMPLETE,
    TASK_END_OUTCOME_STALE,
    OfferBatchResult,
    TaskEndResult,
)
from classifeed_common.db import Tx
from classifeed_common.telemetry.tracing import entered
from classifeed_offers.app.loads.apply_batches import apply_batches
from classifeed_offers.app.loads.decide_hold import decide_hold
from classifeed_offers.domain.admission import (
    Admission,
    BatchKey,
    Request,
    RunKey,
    admit,
    batch_key_of,
    namespace_of,
    run_key_of,
)
from classifeed_offers.domain.completion import Guard, check_whole, name_of_decision
from classifeed_offers.domain.moderation import Moderation
from classifeed_offers.domain.results import (
    applied_batch,
    checked_run,
    refused_batch,
    run_ended,
    stale_batch,
)
from classifeed_offers.store import applying, sweeping
from classifeed_offers.store.applying import RecordedEnd

_log = structlog.get_logger(__name__)

NO_TRACES: Final[Mapping[RunKey, Context]] = {}
_END_OUTCOMES: Final = {
    "COMPLETED": TASK_END_OUTCOME_COMPLETED,
    "INCOMPLETE": TASK_END_OUTCOME_INCOMPLETE,
    "STALE": TASK_END_OUTCOME_STALE,
}


class Sweeps(Protocol):
    """Sweeps runs that have arrived complete."""

    async def start(self, tx: Tx, run: RunKey) -> TaskEndResult | None:
        """Sweep `run` in the caller's transaction and return the result if that is quick; otherwise enqueue the sweep.

        A sweep that is waiting or running is not enqueued again.
        """
        ...


async def apply_requests(
    tx: Tx,
    requests: Sequence[Request],
    *,
    moderation: Moderation,
    sweeps: Sweeps,
    guard: Guard,
    requests_pictures: bool = False,
    traces: Mapping[RunKey, Context] = NO_TRACES,
) -> list[ProtobufMessage]:
    """Apply `requests` and return the messages to send.

    The messages are the results in the order of the requests, then texts to be judged, then pictures to be requested.
    The caller puts them into the outbox in the same transaction.

    Requests that were applied before change nothing and get the same result again, because the first result may be
    lost (ADR 0034). A whole REPLACE run starts a sweep, which makes the changes that `guard` delays and returns the
    result of the run.

    Round trips: a fixed number, two for each namespace, one for each end, and one for 300 changed offers.

    Args:
        tx: transaction for all effects.
        requests: requests in the order of their partition.
        moderation: decides the status of an offer by its text.
        sweeps: starts the sweep of a whole run.
        guard: decides which changes wait.
        requests_pictures: whether pictures are requested.
        traces: traces of the runs; sweeps and documents that follow from a run belong to its trace.
    """
    await applying.forbid_scans(tx)
    heads = await applying.lock_heads(tx, {namespace_of(request) for request in requests})
    applied = await applying.list_applied(tx, [batch_key_of(it) for it in requests if isinstance(it, OfferBatch)])
    ended = await applying.list_ended(tx, {run_key_of(request) for request in requests})
    admissions, moved = admit(
        requests,
        heads,
        {key: batch.digest for key, batch in applied.items()},
        {key: end.digest for key, end in ended.items()},
    )
    admitted = [it for it, admission in zip(requests, admissions, strict=True) if admission is Admission.APPLY]
    kept = {key: batch.kept for key, batch in applied.items()}
    done = await apply_batches(
        tx,
        [it for it in admitted if isinstance(it, OfferBatch)],
        moderation=moderation,
        guard=guard,
        requests_pictures=requests_pictures,
    )
    kept |= done.kept
    if moved:
        await applying.move_heads(tx, moved, traces)
    messages: list[ProtobufMessage] = []
    for request, admission in zip(requests, admissions, strict=True):
        _log_repetition(request, admission)
        if isinstance(request, RunCheck):
            messages.append(checked_run(request))
        elif isinstance(request, OfferBatch):
            messages.append(_result_of_batch(request, admission, kept))
        else:
            with entered(traces.get(run_key_of(request))):
                result = await _result_of_end(tx, request, admission, ended, sweeps)
            if result is not None:
                messages.append(result)
    return [*messages, *done.texts, *done.pictures]


def _log_repetition(request: Request, admission: Admission) -> None:
    if admission in {Admission.STALE, Admission.REPEATED}:
        batch_id = request.batch_id if isinstance(request, OfferBatch) else None
        _log.debug("offers.request.skipped", **run_key_of(request).names, batch=batch_id, why=admission.value)


def _result_of_batch(
    batch: OfferBatch, admission: Admission, kept: Mapping[BatchKey, bytes | None]
) -> OfferBatchResult:
    if admission is Admission.STALE:
        return stale_batch(batch)
    if admission is Admission.REFUSED:
        return refused_batch(batch, f"batch {batch.batch_id} of this run was applied before with other content")
    kept_result = kept[batch_key_of(batch)]
    if kept_result is None:
        return refused_batch(batch, f"batch {batch.batch_id} was applied before, and its result is no longer stored")
    return applied_batch(batch, kept_result)


async def _result_of_end(
    tx: Tx, end: TaskEnd, admission: Admission, ended: dict[RunKey, RecordedEnd], sweeps: Sweeps
) -> TaskEndResult | None:
    """Return the result of an end; None: a sweep sends it, unless an operator has ended the sweep."""
    key = run_key_of(end)
    if admission is Admission.STALE:
        return run_ended(key, TASK_END_OUTCOME_STALE)
    if admission is Admission.REFUSED:
        return run_ended(key, TASK_END_OUTCOME_INCOMPLETE)
    if admission is Admission.APPLY:
        ended[key] = await _record_end(tx, end)
    recorded = ended[key]
    is_open = recorded.outcome is None
    if admission is Admission.REPEATED and recorded.outcome in {None, "HELD"}:
        result, is_open = await decide_hold(tx, key, end.decision)
        if result is not None:
            return result
        if not is_open:  # the run has ended since this poll began
            recorded = (await applying.list_ended(tx, [key]))[key]
    if is_open or recorded.outcome is None:
        return await sweeps.start(tx, key)
    if recorded.outcome != "COMPLETED":  # earlier counts are omitted, as in the first result
        is_incomplete = recorded.outcome == "INCOMPLETE"
        missing = check_whole(end, await applying.list_batches(tx, key)).missing if is_incomplete else []
        return run_ended(key, _END_OUTCOMES[recorded.outcome], missing=missing)
    return run_ended(
        key,
        TASK_END_OUTCOME_COMPLETED,
        removed=recorded.removed,
        made_manual=recorded.made_manual,
        kept=recorded.kept,
        changed=recorded.changed,
        dropped=recorded.dropped,
    )


async def _record_end(tx: Tx, end: TaskEnd) -> RecordedEnd:
    key = run_key_of(end)
    disposition = Disposition.Name(end.disposition).removeprefix("DISPOSITION_")
    outcome: str | None = None
    if not check_whole(end, await applying.list_batches(tx, key)).whole:
        # A partition is ordered, so a missing batch never arrives: nothing is removed, and the task must run again.
        outcome = "INCOMPLETE"
    elif end.mode == LOAD_MODE_PATCH:
        outcome = "COMPLETED"
    decision = name_of_decision(end.decision)
    await applying.insert_end(tx, key, end, disposition=disposition, decision=decision, outcome=outcome)
    if outcome == "COMPLETED":
        await sweeping.drop_plans(tx, key)  # an earlier load that is held gives way to this one
    return RecordedEnd(end.digest, outcome)
