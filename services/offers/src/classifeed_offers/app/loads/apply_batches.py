"""Apply the batches of a poll: decide on each record, write changed offers, set aside changes that the guard delays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.feeds.v1.load_pb2 import ISSUE_LEVEL_ERROR, LOAD_MODE_PATCH
from classifeed.feeds.v1.offer_requests_pb2 import RECORD_KIND_OFFER, OfferBatch, OfferRecord
from classifeed.moderation.v1.offer_texts_pb2 import OfferText, TextsToJudge
from classifeed.pictures.v1.requests_pb2 import PictureRequests
from classifeed_common.db import Tx
from classifeed_common.pacing.yielding import Yielder
from classifeed_offers.domain.admission import BatchKey, RunKey, batch_key_of, namespace_of, run_key_of
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.effects import Effect, Rules, WaitingChange, effect_of
from classifeed_offers.domain.moderation import Moderation, texts_to_judge
from classifeed_offers.domain.offers import Namespace, OfferState, Origin
from classifeed_offers.domain.pictures import request_messages
from classifeed_offers.domain.results import BatchSummary
from classifeed_offers.domain.shifts import is_guarded
from classifeed_offers.store import applying, judging, waiting
from classifeed_offers.store.applying import AppliedNow

_STATEMENT_OFFERS: Final = 300
_Item = TypeVar("_Item")


class _Applied(NamedTuple):
    key: BatchKey
    digest: bytes
    kept: bytes  # part of its result
    seen: list[str] | None  # external ids: a new offer has no offer_id until it is stored
    steady_prices: int
    has_available: bool


@dataclass(slots=True)
class _Namespace:
    """Current offers of a namespace and the effects of a poll's batches, by external id."""

    states: dict[str, OfferState]
    written: dict[str, OfferState] = field(default_factory=dict)
    waiting: dict[str, WaitingChange] = field(default_factory=dict)
    texts: dict[str, OfferText] = field(default_factory=dict)
    pictures: dict[str, list[str]] = field(default_factory=dict)  # links to request

    def add(self, external_id: str, effect: Effect) -> None:
        """Add the effect of a record."""
        if effect.written is not None:
            self.states[external_id] = self.written[external_id] = effect.written
        if effect.waiting is not None:
            self.waiting[external_id] = effect.waiting
        if effect.text is not None:
            self.texts[external_id] = effect.text
        if effect.pictures:
            self.pictures.setdefault(external_id, []).extend(effect.pictures)


class AppliedBatches(NamedTuple):
    """Results to keep for batches, texts to be judged, and pictures to be requested."""

    kept: dict[BatchKey, bytes]
    texts: list[TextsToJudge]
    pictures: list[PictureRequests]


async def apply_batches(
    tx: Tx, batches: Sequence[OfferBatch], *, moderation: Moderation, guard: Guard, requests_pictures: bool
) -> AppliedBatches:
    """Apply batches that were not applied before.

    Args:
        requests_pictures: whether pictures are requested.
    """
    if not batches:
        return AppliedBatches({}, [], [])
    namespaces = await _load_namespaces(tx, batches)
    available: set[RunKey] = set()
    await _load_changing(tx, batches, namespaces, with_pictures=requests_pictures)
    if guard.looks_at_changes:
        available = await _find_available(tx, batches)
    content_version = await judging.next_content_version(tx)
    now = Timestamp()
    now.FromMicroseconds(content_version)
    rules = Rules(moderation, guard, content_version, requests_pictures, now)
    done: list[_Applied] = []
    yielder = Yielder()
    for batch in batches:
        run = run_key_of(batch)
        if _has_available(batch):
            available.add(run)
        namespace = namespaces[namespace_of(batch)]
        done.append(_apply_batch(batch, namespace, rules, has_available=run in available))
        await yielder.yield_if_due()
    for name, namespace in namespaces.items():
        await _write(tx, name, namespace)
    await applying.insert_batches(tx, [_with_ids(it, namespaces[it.key.namespace].states) for it in done])
    texts = [
        message
        for name, namespace in namespaces.items()
        for message in texts_to_judge(name, list(namespace.texts.values()))
    ]
    pictures = [
        message for name, namespace in namespaces.items() for message in request_messages(name, namespace.pictures, now)
    ]
    return AppliedBatches({it.key: it.kept for it in done}, texts, pictures)


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
            await applying.list_offers(tx, namespace, external_ids, with_content=namespace in patched)
        )
        for namespace, external_ids in wanted.items()
    }


async def _load_changing(
    tx: Tx, batches: Sequence[OfferBatch], namespaces: dict[Namespace, _Namespace], *, with_pictures: bool
) -> None:
    """Read the contents and pictures of offers that a batch writes; other offers cost nothing.

    Contents are read for guarded offers only: guard and moderation need no others.
    """
    changing: dict[int, tuple[dict[str, OfferState], str]] = {}
    for batch in batches:
        if batch.mode == LOAD_MODE_PATCH:
            continue
        states = namespaces[namespace_of(batch)].states
        for record in batch.records:
            state = states.get(record.external_id)
            if state is not None and state.content is None and _is_read(state, record, with_pictures=with_pictures):
                changing[state.offer_id] = (states, record.external_id)
    offer_ids = list(changing)
    for piece in _pieces(offer_ids):
        for offer_id, stored in (await waiting.list_contents(tx, piece)).items():
            states, external_id = changing[offer_id]
            state = states[external_id]
            kept = stored._asdict() if is_guarded(state) else {"pictures": stored.pictures}
            states[external_id] = state._replace(**kept)


def _is_read(state: OfferState, record: OfferRecord, *, with_pictures: bool) -> bool:
    if state.content_hash == record.content_hash:
        return with_pictures and state.exists and state.origin is Origin.MANUAL
    return is_guarded(state) or (with_pictures and state.exists)


async def _find_available(tx: Tx, batches: Sequence[OfferBatch]) -> set[RunKey]:
    """Return the runs that have had an available offer; reads only the runs that have a batch without one."""
    doubtful = {run_key_of(it) for it in batches if it.mode != LOAD_MODE_PATCH and not _has_available(it)}
    return await waiting.list_available(tx, doubtful) if doubtful else set()


def _apply_batch(batch: OfferBatch, namespace: _Namespace, rules: Rules, *, has_available: bool) -> _Applied:
    """Apply the records of a batch; later batches of the poll see the effects of earlier ones."""
    summary = BatchSummary()
    seen: list[str] = []
    steady_prices = 0
    for record in batch.records:
        external_id = record.external_id
        effect = effect_of(batch, record, namespace.states.get(external_id), rules, has_available=has_available)
        namespace.add(external_id, effect)
        decision = effect.decision
        if decision.seen:
            seen.append(external_id)
        summary.add(record, decision.outcome, decision.finding, exists=decision.seen, ban=decision.ban)
        if effect.picture_faults is not None and rules.requests_pictures:
            summary.add_pictures(record, effect.picture_faults)
        steady_prices += effect.changes_price
    return _Applied(
        batch_key_of(batch),
        batch.digest,
        summary.to_keep(batch),
        None if batch.mode == LOAD_MODE_PATCH else seen,
        steady_prices,
        _has_available(batch),
    )


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
    """Cut the rows for one statement: writing its parameters blocks the event loop."""
    return (items[at : at + _STATEMENT_OFFERS] for at in range(0, len(items), _STATEMENT_OFFERS))
