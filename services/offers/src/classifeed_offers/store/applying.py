"""Reads and writes for a poll of requests: one statement for the whole poll wherever possible."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from opentelemetry.context import Context
from psycopg.types.json import Jsonb

from classifeed.feeds.v1.offer_requests_pb2 import TaskEnd
from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_common.telemetry.tracing import kept_trace
from classifeed_offers.domain.admission import BatchKey, RunKey
from classifeed_offers.domain.offers import Change, Namespace, OfferState, Origin, Run, Status
from classifeed_offers.store.runs import run_columns, run_values

_SQL: Final = load_queries(__package__, "applying.sql")
_FORBID_SCANS = _SQL["forbid_scans"]
_LOCK_HEADS = _SQL["lock_heads"]
_CREATE_HEADS = _SQL["create_heads"]
_MOVE_HEADS = _SQL["move_heads"]
_FIND_APPLIED = _SQL["find_applied"]
_FIND_ENDED = _SQL["find_ended"]
_LOAD_OFFERS = _SQL["load_offers"]
_LOAD_OFFERS_WITH_CONTENT = _SQL["load_offers_with_content"]
_AWAIT_REPUBLICATION = _SQL["await_republication"]
_INSERT_OFFERS = _SQL["insert_offers"]
_UPDATE_OFFERS = _SQL["update_offers"]
_INSERT_BATCHES = _SQL["insert_batches"]
_LIST_BATCHES = _SQL["list_batches"]
_INSERT_END = _SQL["insert_end"]

_ORIGINS = {origin.value: origin for origin in Origin}
_STATUSES = {status.value: status for status in Status}
_CHANGES = {change.value: change for change in Change}


class AppliedBatch(NamedTuple):
    """A batch that was applied before; `kept` is None if its result was not stored."""

    digest: bytes
    kept: bytes | None


class AppliedNow(NamedTuple):
    """A batch that was applied in this transaction.

    Attributes:
        key: identity of the batch.
        digest: digest of its records.
        kept: stored part of its result.
        seen: ids of its offers; None in a PATCH load.
        steady_prices: number of prices that it has changed.
        has_available: whether an offer in it is available.
    """

    key: BatchKey
    digest: bytes
    kept: bytes
    seen: Sequence[int] | None
    steady_prices: int
    has_available: bool


class RecordedEnd(NamedTuple):
    """A run's recorded end. `digest` is None if it was not stored; `outcome` is None during the run's sweep."""

    digest: bytes | None
    outcome: str | None
    removed: int = 0
    made_manual: int = 0
    kept: int = 0
    changed: int = 0
    dropped: int = 0


async def forbid_scans(tx: Tx) -> None:
    """Make the rest of the transaction look rows up by index, regardless of their number."""
    await tx.execute(_FORBID_SCANS)


async def lock_heads(tx: Tx, namespaces: Collection[Namespace], *, create: bool = True) -> dict[Namespace, Run]:
    """Return the head of each namespace, locked until the transaction ends; (0, 0) for one without loads.

    Unless `create` is set, an unknown namespace is omitted.

    A transaction that changes a namespace's offers for its feed must hold this lock. Its later reads stay valid until
    it commits.
    """
    parameters = {
        "sellers": [key.seller_id for key in namespaces],
        "namespaces": [key.namespace for key in namespaces],
    }
    rows = await (await tx.execute(_LOCK_HEADS, parameters)).fetchall()
    if create and len(rows) < len(namespaces):
        await tx.execute(_CREATE_HEADS, parameters)
        rows = await (await tx.execute(_LOCK_HEADS, parameters)).fetchall()
    return {Namespace(*row[:2]): Run(*row[2:]) for row in rows}


async def move_heads(tx: Tx, moved: Mapping[Namespace, Run], traces: Mapping[RunKey, Context]) -> None:
    """Write the heads that moved, each with the trace of its run, if it has one."""
    keys = [RunKey(namespace, run) for namespace, run in moved.items()]
    kept = [kept_trace(traces[key]) if key in traces else {} for key in keys]
    parameters = {**run_columns(keys), "traces": [Jsonb(trace) if trace else None for trace in kept]}
    await tx.execute(_MOVE_HEADS, parameters)


async def list_applied(tx: Tx, batches: Sequence[BatchKey]) -> dict[BatchKey, AppliedBatch]:
    """Return the batches of `batches` that were applied before."""
    parameters = run_columns(RunKey(key.namespace, key.run) for key in batches)
    parameters["batches"] = [key.batch_id for key in batches]
    rows = await (await tx.execute(_FIND_APPLIED, parameters)).fetchall()
    return {BatchKey(Namespace(*row[:2]), Run(*row[2:4]), row[4]): AppliedBatch(*row[5:]) for row in rows}


async def list_ended(tx: Tx, runs: Collection[RunKey]) -> dict[RunKey, RecordedEnd]:
    """Return the runs of `runs` whose end was recorded before."""
    return {
        RunKey(Namespace(row.seller_id, row.namespace), Run(row.task_id, row.run)): RecordedEnd(
            row.digest, row.outcome, row.removed, row.made_manual, row.kept, row.changed, row.dropped
        )
        for row in await fetch_named(tx, _FIND_ENDED, run_columns(runs))
    }


async def list_offers(
    tx: Tx, namespace: Namespace, external_ids: Collection[str], *, with_content: bool
) -> dict[str, OfferState]:
    """Return the namespace's offers with `external_ids`, including removed ones."""
    parameters = {
        "seller": namespace.seller_id,
        "namespace": namespace.namespace,
        "external_ids": list(external_ids),
    }
    return {
        row.external_id: OfferState(
            row.offer_id,
            row.content_hash,
            _ORIGINS[row.origin],
            _STATUSES[row.status],
            row.last_task_id,
            _CHANGES[row.last_change],
            row.moderation,
            row.text_hash,
            row.approved_text_hash,
            row.ban,
            row.picture_faults,
            row.published_content,
            row.content,
            row.pictures,
        )
        for row in await fetch_named(tx, _LOAD_OFFERS_WITH_CONTENT if with_content else _LOAD_OFFERS, parameters)
    }


async def insert_offers(tx: Tx, namespace: Namespace, offers: Mapping[str, OfferState]) -> dict[str, int]:
    """Store new offers and return their ids. The caller holds the namespace's head.

    Waits until a republication that is beginning has committed; a later one waits for this transaction.
    """
    parameters = _state_columns(offers.values())
    parameters["seller"] = namespace.seller_id
    parameters["namespace"] = namespace.namespace
    parameters["external_ids"] = list(offers)
    await tx.execute(_AWAIT_REPUBLICATION)
    cursor = await tx.execute(_INSERT_OFFERS, parameters)
    return dict(await cursor.fetchall())


async def update_offers(tx: Tx, offers: Collection[OfferState]) -> None:
    """Store changed offers. The caller holds the heads of their namespaces."""
    parameters = _state_columns(offers)
    parameters["offer_ids"] = [state.offer_id for state in offers]
    await tx.execute(_UPDATE_OFFERS, parameters)


async def insert_batches(tx: Tx, batches: Sequence[AppliedNow]) -> None:
    """Record batches as applied."""
    parameters = run_columns(RunKey(it.key.namespace, it.key.run) for it in batches)
    parameters["batches"] = [it.key.batch_id for it in batches]
    parameters["digests"] = [it.digest for it in batches]
    parameters["kept"] = [it.kept for it in batches]
    parameters["seen"] = [None if it.seen is None else "{" + ",".join(map(str, it.seen)) + "}" for it in batches]
    parameters["steady_prices"] = [it.steady_prices for it in batches]
    parameters["has_available"] = [it.has_available for it in batches]
    await tx.execute(_INSERT_BATCHES, parameters)


async def list_batches(tx: Tx, run: RunKey) -> list[tuple[int, bytes]]:
    """Return (number, digest) of the batches applied in a run, in order of the numbers."""
    cursor = await tx.execute(_LIST_BATCHES, run_values(run))
    return [(row[0], row[1]) for row in await cursor.fetchall()]


async def insert_end(
    tx: Tx, run: RunKey, end: TaskEnd, *, disposition: str, decision: str | None, outcome: str | None
) -> None:
    """Record the end of a run; it has no outcome until its sweep is done."""
    parameters = run_values(run) | {
        "batch_count": end.batch_count,
        "digest": end.digest,
        "disposition": disposition,
        "decision": decision,
        "outcome": outcome,
    }
    await tx.execute(_INSERT_END, parameters)


def _state_columns(states: Collection[OfferState]) -> dict[str, Any]:
    return {
        "contents": [state.content for state in states],
        "hashes": [state.content_hash for state in states],
        "origins": [state.origin.value for state in states],
        "statuses": [state.status.value for state in states],
        "tasks": [state.last_task_id for state in states],
        "changes": [state.last_change.value for state in states],
        "moderations": [state.moderation for state in states],
        "text_hashes": [state.text_hash for state in states],
        "approved_text_hashes": [state.approved_text_hash for state in states],
        "bans": [state.ban for state in states],
        "published_contents": [state.published_content for state in states],
        "are_requested": [state.is_requested for state in states],
        "pictures": [state.pictures for state in states],
        "picture_faults": [state.picture_faults for state in states],
        "await_pictures": [state.awaits_pictures for state in states],
        "ordinals": [state.last_ordinal for state in states],
        "lines": [state.last_line for state in states],
    }
