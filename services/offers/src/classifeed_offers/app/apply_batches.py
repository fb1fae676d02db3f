"""Apply the batches of a poll: decide about each record, write what changes, hold back what the guard wants to wait."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from classifeed.feeds.v1.load_pb2 import ISSUE_LEVEL_ERROR, LOAD_MODE_PATCH
from classifeed.feeds.v1.offer_requests_pb2 import RECORD_KIND_OFFER, OfferBatch, OfferRecord
from classifeed.moderation.v1.offer_texts_pb2 import OfferText, TextsToJudge
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_common.db import Tx
from classifeed_common.yielding import Yielder
from classifeed_offers.domain.admission import BatchKey, RunKey, batch_key_of, namespace_of, run_key_of
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.decide import RecordOutcome, decide
from classifeed_offers.domain.moderation import Moderation, text_to_judge
from classifeed_offers.domain.offers import Namespace, OfferState
from classifeed_offers.domain.results import BatchSummary
from classifeed_offers.domain.shifts import Shift, is_guarded, shift_between
from classifeed_offers.store import applying, judging, waiting
from classifeed_offers.store.applying import AppliedNow
from classifeed_offers.store.waiting import WaitingChange

_STATEMENT_OFFERS: Final = 300
_MESSAGE_TEXTS: Final = 100
_NO_SHIFT: Final = Shift(None, becomes_unavailable=False)
_Item = TypeVar("_Item")


class _Applied(NamedTuple):
    key: BatchKey
    digest: bytes
    kept: bytes  # of its result
    seen: list[str] | None  # external ids: a new offer has no id of its own until it is stored
    steady_prices: int
    has_available: bool


@dataclass(slots=True)
class _Namespace:
    """Offers of a namespace as they stand, and what the batches of a poll make of them, by external id."""

    states: dict[str, OfferState]
    written: dict[str, OfferState] = field(default_factory=dict)
    waiting: dict[str, WaitingChange] = field(default_factory=dict)
    texts: dict[str, OfferText] = field(default_factory=dict)


class AppliedBatches(NamedTuple):
    """What is kept of the results of batches, and texts to be judged."""

    kept: dict[BatchKey, bytes]
    texts: list[TextsToJudge]


async def apply_batches(
    tx: Tx, batches: Sequence[OfferBatch], *, moderation: Moderation, guard: Guard
) -> AppliedBatches:
    """Apply batches that were not applied before."""
    if not batches:
        return AppliedBatches({}, [])
    namespaces = await _load_namespaces(tx, batches)
    available: set[RunKey] = set()
    await _load_changing(tx, batches, namespaces)
    if guard.looks_at_changes:
        available = await _find_available(tx, batches)
    content_version = await judging.next_content_version(tx)
    done: list[_Applied] = []
    yielder = Yielder()
    for batch in batches:
        if _has_available(batch):
            available.add(run_key_of(batch))
        namespace = namespaces[namespace_of(batch)]
        done.append(_apply_batch(batch, namespace, moderation, guard, available, content_version=content_version))
        await yielder.yield_if_due()
    for name, namespace in namespaces.items():
        await _write(tx, name, namespace)
    await applying.insert_batches(tx, [_with_ids(it, namespaces[it.key.namespace].states) for it in done])
    texts = [
        message
        for name, namespace in namespaces.items()
        for message in texts_to_judge(name, list(namespace.texts.values()))
    ]
    return AppliedBatches({it.key: it.kept for it in done}, texts)


def texts_to_judge(name: Namespace, texts: Sequence[OfferText]) -> list[TextsToJudge]:
    """Return texts of a namespace as messages."""
    return [
        TextsToJudge(seller_id=name.seller_id, namespace=name.namespace, texts=texts[at : at + _MESSAGE_TEXTS])
        for at in range(0, len(texts), _MESSAGE_TEXTS)
    ]


async def _load_namespaces(tx: Tx, batches: Sequence[OfferBatch]) -> dict[Namespace, _Namespace]:
    wanted: dict[Namespace, set[str]] = {}
    patched: set[Namespace] = set()
    for batch in batches:
        namespace = namespace_of(batch)
        wanted.setdefault(namespace, set()).update(record.external_id for record in batch.records)
        if batch.mode == LOAD_MODE_PATCH:
            patched.add(namespace)
    return {
        namespace: _Namespace(
            await applying.load_offers(tx, namespace, external_ids, with_content=namespace in patched)
        )
        for namespace, external_ids in wanted.items()
    }


async def _load_changing(tx: Tx, batches: Sequence[OfferBatch], namespaces: dict[Namespace, _Namespace]) -> None:
    """Read the contents of those offers that a batch changes, for guard and moderation; others cost nothing."""
    changing: dict[int, tuple[dict[str, OfferState], str]] = {}
    for batch in batches:
        if batch.mode == LOAD_MODE_PATCH:
            continue
        states = namespaces[namespace_of(batch)].states
        for record in batch.records:
            state = states.get(record.external_id)
            if (
                state is not None
                and state.content_hash != record.content_hash
                and state.content is None
                and is_guarded(state)
            ):
                changing[state.offer_id] = (states, record.external_id)
    offer_ids = list(changing)
    for piece in _pieces(offer_ids):
        for offer_id, (content, published) in (await waiting.load_contents(tx, piece)).items():
            states, external_id = changing[offer_id]
            states[external_id] = states[external_id]._replace(content=content, published_content=published)


async def _find_available(tx: Tx, batches: Sequence[OfferBatch]) -> set[RunKey]:
    """Return the runs that have had an available offer; looked up only for those with a batch that has none."""
    doubtful = {run_key_of(it) for it in batches if it.mode != LOAD_MODE_PATCH and not _has_available(it)}
    return await waiting.find_available(tx, doubtful) if doubtful else set()


def _apply_batch(
    batch: OfferBatch,
    namespace: _Namespace,
    moderation: Moderation,
    guard: Guard,
    available: set[RunKey],
    *,
    content_version: int,
) -> _Applied:
    """Decide about each record; later batches of the poll see what earlier ones made of an offer."""
    summary = BatchSummary()
    seen: list[str] = []
    steady_prices = 0
    run = run_key_of(batch)
    for record in batch.records:
        external_id = record.external_id
        before = namespace.states.get(external_id)
        decision = decide(record, before, task_id=batch.task_id, mode=batch.mode, moderation=moderation)
        outcome, after = decision.outcome, decision.state
        if after is not None:
            shift = _shift_of(batch, record, before, after)
            if before is not None and guard.sets_aside(shift, has_available=run in available):
                namespace.waiting[external_id] = WaitingChange(run.run, before.content_hash, after, shift)
                outcome = RecordOutcome.SKIPPED  # until the end of the run says that it was made
            else:
                namespace.states[external_id] = namespace.written[external_id] = after
                if after.is_requested:
                    assert after.text_hash is not None
                    content = (
                        record.content
                        if batch.mode != LOAD_MODE_PATCH
                        else OfferContent.FromString(after.content or b"")
                    )
                    namespace.texts[external_id] = text_to_judge(external_id, content, after.text_hash, content_version)
                steady_prices += shift.price_ratio is not None
        if decision.seen:
            seen.append(external_id)
        summary.add(record, outcome, decision.finding, exists=decision.seen, ban=decision.ban)
    return _Applied(
        batch_key_of(batch),
        batch.digest,
        summary.to_keep(),
        None if batch.mode == LOAD_MODE_PATCH else seen,
        steady_prices,
        _has_available(batch),
    )


def _shift_of(batch: OfferBatch, record: OfferRecord, before: OfferState | None, after: OfferState) -> Shift:
    if batch.mode == LOAD_MODE_PATCH or before is None or before.content is None:
        return _NO_SHIFT
    if not (is_guarded(before) and is_guarded(after)):
        return _NO_SHIFT
    return shift_between(before.content, record.content)


def _has_available(batch: OfferBatch) -> bool:
    return any(_is_taken(record) and record.content.available for record in batch.records)


def _is_taken(record: OfferRecord) -> bool:
    if record.kind != RECORD_KIND_OFFER or record.keep_existing:
        return False
    return not any(error.level == ISSUE_LEVEL_ERROR for error in record.errors)


async def _write(tx: Tx, name: Namespace, namespace: _Namespace) -> None:
    new = [(external_id, state) for external_id, state in namespace.written.items() if not state.offer_id]
    changed = [state for state in namespace.written.values() if state.offer_id]
    for added in _pieces(new):
        for external_id, offer_id in (await applying.insert_offers(tx, name, dict(added))).items():
            namespace.states[external_id] = namespace.states[external_id]._replace(offer_id=offer_id)
    for states in _pieces(changed):
        await applying.update_offers(tx, states)
    set_aside = [(namespace.states[external_id].offer_id, it) for external_id, it in namespace.waiting.items()]
    for changes in _pieces(set_aside):
        await waiting.set_aside(tx, name, changes)


def _with_ids(applied: _Applied, states: dict[str, OfferState]) -> AppliedNow:
    seen = None if applied.seen is None else [states[external_id].offer_id for external_id in applied.seen]
    return AppliedNow(applied.key, applied.digest, applied.kept, seen, applied.steady_prices, applied.has_available)


def _pieces(items: Sequence[_Item]) -> Iterable[Sequence[_Item]]:
    """Cut what goes into a statement: the event loop is held while its parameters are written."""
    return (items[at : at + _STATEMENT_OFFERS] for at in range(0, len(items), _STATEMENT_OFFERS))
