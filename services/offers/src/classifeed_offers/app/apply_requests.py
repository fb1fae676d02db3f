"""Apply a poll of requests: batches and ends of runs of several sellers, in their order, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from google.protobuf.message import Message as ProtobufMessage

from classifeed.feeds.v1.load_pb2 import DISPOSITION_MAKE_MANUAL, LOAD_MODE_PATCH
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, RunCheck, TaskEnd
from classifeed.feeds.v1.offer_results_pb2 import (
    TASK_END_OUTCOME_COMPLETED,
    TASK_END_OUTCOME_INCOMPLETE,
    TASK_END_OUTCOME_STALE,
    OfferBatchResult,
    TaskEndResult,
)
from classifeed_common.db import Tx
from classifeed_common.turns import Turns
from classifeed_offers.app.decide_hold import decide_hold
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
from classifeed_offers.domain.answers import (
    BatchAnswer,
    applied_batch,
    checked_run,
    refused_batch,
    run_ended,
    stale_batch,
)
from classifeed_offers.domain.decide import decide
from classifeed_offers.domain.ending import check_whole, name_of_decision
from classifeed_offers.domain.moderation import Moderation
from classifeed_offers.domain.offers import Namespace, OfferState
from classifeed_offers.store import applying, sweeping
from classifeed_offers.store.applying import RecordedEnd

_STATEMENT_OFFERS: Final = 300
_END_OUTCOMES: Final = {
    "COMPLETED": TASK_END_OUTCOME_COMPLETED,
    "INCOMPLETE": TASK_END_OUTCOME_INCOMPLETE,
    "STALE": TASK_END_OUTCOME_STALE,
}


class Sweeps(Protocol):
    """Sweeps runs that have arrived as a whole."""

    async def start(self, tx: Tx, run: RunKey) -> TaskEndResult | None:
        """Sweep `run` in the caller's transaction and return the result, if that is short; else enqueue the sweep.

        One that is waiting or running already is not enqueued again.
        """
        ...


class _Applied(NamedTuple):
    key: BatchKey
    batch: OfferBatch
    kept: bytes  # of its result
    seen: list[str] | None  # external ids: a new offer has no id of its own until it is stored


async def apply_requests(
    tx: Tx, requests: Sequence[Request], *, moderation: Moderation, sweeps: Sweeps
) -> list[ProtobufMessage]:
    """Apply `requests` and return the results to send, in the order of the requests.

    The results belong into the outbox within the same transaction. May run any number of times with requests that were
    applied before: those change nothing and get the same result again, as the one before may be lost (ADR 0034). A
    whole REPLACE run gets its result from the sweep that is started here. Takes a fixed number of round trips, plus two
    for each namespace and one for each end.
    """
    await applying.forbid_scans(tx)
    heads = await applying.lock_heads(tx, {namespace_of(request) for request in requests})
    applied = await applying.find_applied(tx, [batch_key_of(it) for it in requests if isinstance(it, OfferBatch)])
    ended = await applying.find_ended(tx, {run_key_of(request) for request in requests})
    admissions, moved = admit(
        requests,
        heads,
        {key: batch.digest for key, batch in applied.items()},
        {key: end.digest for key, end in ended.items()},
    )
    admitted = [it for it, admission in zip(requests, admissions, strict=True) if admission is Admission.APPLY]
    kept = {key: batch.kept for key, batch in applied.items()}
    kept |= await _apply_batches(tx, [it for it in admitted if isinstance(it, OfferBatch)], moderation)
    if moved:
        await applying.move_heads(tx, moved)
    messages: list[ProtobufMessage] = []
    for request, admission in zip(requests, admissions, strict=True):
        if isinstance(request, RunCheck):
            messages.append(checked_run(request))
        elif isinstance(request, OfferBatch):
            messages.append(_result_of_batch(request, admission, kept))
        else:
            result = await _result_of_end(tx, request, admission, ended, sweeps)
            if result is not None:
                messages.append(result)
    return messages


def _result_of_batch(
    batch: OfferBatch, admission: Admission, kept: Mapping[BatchKey, bytes | None]
) -> OfferBatchResult:
    if admission is Admission.STALE:
        return stale_batch(batch)
    if admission is Admission.REFUSED:
        return refused_batch(batch, f"batch {batch.batch_id} of this run was applied before with other content")
    kept_result = kept[batch_key_of(batch)]
    if kept_result is None:
        return refused_batch(batch, f"batch {batch.batch_id} was applied before, and its result is not known any more")
    return applied_batch(batch, kept_result)


async def _result_of_end(
    tx: Tx, end: TaskEnd, admission: Admission, ended: dict[RunKey, RecordedEnd], sweeps: Sweeps
) -> TaskEndResult | None:
    """Return the result of an end; None: it follows from a sweep, which an operator may have ended meanwhile."""
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
        if not is_open:  # it has ended since this poll began
            recorded = (await applying.find_ended(tx, [key]))[key]
    if is_open or recorded.outcome is None:
        return await sweeps.start(tx, key)
    missing: list[int] = []
    if recorded.outcome == "INCOMPLETE":
        missing = check_whole(end, await applying.list_batches(tx, key)).missing
    return run_ended(
        key,
        _END_OUTCOMES[recorded.outcome],
        removed=recorded.removed,
        made_manual=recorded.made_manual,
        kept=recorded.kept,
        missing=missing,
    )


async def _apply_batches(tx: Tx, batches: Sequence[OfferBatch], moderation: Moderation) -> dict[BatchKey, bytes]:
    if not batches:
        return {}
    states = await _load_states(tx, batches)
    written: dict[Namespace, dict[str, OfferState]] = {namespace: {} for namespace in states}
    done: list[_Applied] = []
    turns = Turns()
    for batch in batches:
        namespace = namespace_of(batch)
        done.append(_apply_batch(batch, states[namespace], written[namespace], moderation))
        await turns.give()
    for namespace, offers in written.items():
        await _write(tx, namespace, offers, states[namespace])
    await applying.insert_batches(
        tx,
        [
            (
                it.key,
                it.batch.digest,
                it.kept,
                None if it.seen is None else [states[it.key.namespace][name].offer_id for name in it.seen],
            )
            for it in done
        ],
    )
    return {it.key: it.kept for it in done}


async def _load_states(tx: Tx, batches: Sequence[OfferBatch]) -> dict[Namespace, dict[str, OfferState]]:
    wanted: dict[Namespace, set[str]] = {}
    patched: set[Namespace] = set()
    for batch in batches:
        namespace = namespace_of(batch)
        wanted.setdefault(namespace, set()).update(record.external_id for record in batch.records)
        if batch.mode == LOAD_MODE_PATCH:
            patched.add(namespace)
    return {
        namespace: await applying.load_offers(tx, namespace, external_ids, with_content=namespace in patched)
        for namespace, external_ids in wanted.items()
    }


def _apply_batch(
    batch: OfferBatch, states: dict[str, OfferState], written: dict[str, OfferState], moderation: Moderation
) -> _Applied:
    """Decide about each record; later batches of the poll see what earlier ones made of an offer."""
    answer = BatchAnswer()
    seen: list[str] = []
    for record in batch.records:
        external_id = record.external_id
        decision = decide(
            record, states.get(external_id), task_id=batch.task_id, mode=batch.mode, moderation=moderation
        )
        if decision.state is not None:
            states[external_id] = written[external_id] = decision.state
        if decision.seen:
            seen.append(external_id)
        answer.add(record, decision.fate, decision.finding)
    return _Applied(batch_key_of(batch), batch, answer.to_keep(), None if batch.mode == LOAD_MODE_PATCH else seen)


async def _write(tx: Tx, namespace: Namespace, written: dict[str, OfferState], states: dict[str, OfferState]) -> None:
    new = [(external_id, state) for external_id, state in written.items() if not state.offer_id]
    changed = [state for state in written.values() if state.offer_id]
    # In pieces: the event loop is held while the parameters of a statement are written.
    for at in range(0, len(new), _STATEMENT_OFFERS):
        piece = dict(new[at : at + _STATEMENT_OFFERS])
        for external_id, offer_id in (await applying.insert_offers(tx, namespace, piece)).items():
            states[external_id] = states[external_id]._replace(offer_id=offer_id)
    for at in range(0, len(changed), _STATEMENT_OFFERS):
        await applying.update_offers(tx, changed[at : at + _STATEMENT_OFFERS])


async def _record_end(tx: Tx, end: TaskEnd) -> RecordedEnd:
    key = run_key_of(end)
    disposition = "MAKE_MANUAL" if end.disposition == DISPOSITION_MAKE_MANUAL else "DELETE"
    outcome: str | None = None
    if not check_whole(end, await applying.list_batches(tx, key)).whole:
        # In an ordered partition what is missing never comes: nothing is removed, and the task must run again.
        outcome = "INCOMPLETE"
    elif end.mode == LOAD_MODE_PATCH:
        outcome = "COMPLETED"
    decision = name_of_decision(end.decision)
    await applying.insert_end(tx, key, end, disposition=disposition, decision=decision, outcome=outcome)
    if outcome == "COMPLETED":
        await sweeping.drop_plans(tx, key)  # of a load before it that is held, and gives way
    return RecordedEnd(end.digest, outcome, removed=0, made_manual=0, kept=0)
