"""Documents to store in the registry, and the outcome of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import NamedTuple

from classifeed_common.errors import FieldViolation


class Status(IntEnum):
    """Status of a row of the registry."""

    LIVE = 1
    TOMBSTONE = 2
    DAMAGED = 3


class Freshness(NamedTuple):
    """Order of the versions of a document: the greater tuple is the fresher version."""

    epoch: int
    version: int
    modify_timestamp: datetime


class NewDocument(NamedTuple):
    """A document that fits its schema, ready for the registry. A tuple, because tuples are cheap to create.

    `content` is its RawDocument, serialized deterministically: equal documents have equal bytes.
    """

    pk: str
    pk_hash: int
    freshness: Freshness
    status: Status
    expires_at: datetime | None
    content: bytes
    traceparent: str = ""  # trace context to propagate; empty: none


class StoredDocument(NamedTuple):
    """The registry's row of a key; no content if the row is damaged."""

    freshness: Freshness
    content: bytes | None
    is_removed: bool = False


class ShardPosition(NamedTuple):
    """The position of an element in the queue `main`."""

    shard: int
    idx: int


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The document is stored now (with its position), or was stored before with the same bytes."""

    position: ShardPosition | None = None


@dataclass(frozen=True, slots=True)
class Stale:
    """A fresher document is stored, with this version and epoch."""

    version: int = field(default=0, compare=False)
    epoch: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Invalid:
    """The document is invalid; a retry cannot help."""

    violations: tuple[FieldViolation, ...]


@dataclass(frozen=True, slots=True)
class EpochTooOld:
    """The document was composed for an epoch that is no longer active."""

    current_epoch: int


@dataclass(frozen=True, slots=True)
class Retry:
    """It is unknown whether the document is stored, for a temporary reason."""


Outcome = Acknowledged | Stale | Invalid | EpochTooOld | Retry

CONFLICT = Invalid(
    (
        FieldViolation(
            "document",
            "CONFLICT: the same epoch, version and timestamp are stored with other content; "
            "push the new content with a greater version",
        ),
    )
)


def select_candidates(documents: Iterable[NewDocument]) -> list[NewDocument]:
    """Return the freshest document of each key (the first of equals), sorted by (hash, pk).

    Rows are locked in this order. It is the same in every transaction, which prevents deadlocks.
    """
    freshest: dict[str, NewDocument] = {}
    for document in documents:
        known = freshest.get(document.pk)
        if known is None or known.freshness < document.freshness:
            freshest[document.pk] = document
    return sorted(freshest.values(), key=lambda document: (document.pk_hash, document.pk))


def judge(document: NewDocument, stored: StoredDocument | NewDocument | None) -> Outcome:
    """Return the outcome of a document that was not written, from the row that is stored after the write.

    If there is no row, or a less fresh one, the row was removed in between: the outcome is Retry. A damaged row also
    yields Retry, because the next push replaces it. A tombstone needs no content, so a damaged one is acknowledged.
    """
    if stored is None or stored.freshness < document.freshness:
        return Retry()
    if document.freshness < stored.freshness:
        return Stale(stored.freshness.version, stored.freshness.epoch)
    if stored.content is None:
        return Acknowledged() if isinstance(stored, StoredDocument) and stored.is_removed else Retry()
    return Acknowledged() if document.content == stored.content else CONFLICT


def newest_positions(outcomes: Sequence[Outcome]) -> list[ShardPosition]:
    """Return the greatest position of the written documents in each shard, ordered by shard."""
    newest: dict[int, int] = {}
    for outcome in outcomes:
        if isinstance(outcome, Acknowledged) and outcome.position is not None:
            newest[outcome.position.shard] = max(newest.get(outcome.position.shard, 0), outcome.position.idx)
    return [ShardPosition(shard, idx) for shard, idx in sorted(newest.items())]
