"""Documents on their way into the registry, and what becomes of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import NamedTuple

from classifeed_common.errors import FieldViolation


class Status(IntEnum):
    """What a row of the registry stands for."""

    LIVE = 1
    TOMBSTONE = 2
    DAMAGED = 3


class Freshness(NamedTuple):
    """Says which of two documents with one key is the fresher: the greater in this order."""

    epoch: int
    version: int
    modify_timestamp: datetime


class NewDocument(NamedTuple):
    """A document that keeps its schema, ready for the registry. A tuple, as these are made by the ten thousands.

    `content` are the bytes of its RawDocument, serialized deterministically: equal documents have equal bytes.
    """

    pk: str
    pk_hash: int
    freshness: Freshness
    status: Status
    expires_at: datetime | None
    content: bytes
    traceparent: str = ""  # of the trace that it takes along, if it does


class StoredDocument(NamedTuple):
    """What the registry has for a key; no content if the row is damaged."""

    freshness: Freshness
    content: bytes | None
    is_removed: bool = False


class ShardPosition(NamedTuple):
    """The position of an element in the queue `main`."""

    shard: int
    idx: int


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Stored now (with its position), or stored before with the same bytes."""

    position: ShardPosition | None = None


@dataclass(frozen=True, slots=True)
class Stale:
    """A fresher one is stored, of this version and epoch."""

    version: int = field(default=0, compare=False)
    epoch: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Invalid:
    """The document is wrong, and stays wrong however often it comes."""

    violations: tuple[FieldViolation, ...]


@dataclass(frozen=True, slots=True)
class EpochTooOld:
    """The document was composed for an epoch that was left behind."""

    current_epoch: int


@dataclass(frozen=True, slots=True)
class Retry:
    """Nothing is known to be stored, for a reason that passes."""


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
    """Return of each key the freshest document (the first of equals), sorted by (hash, pk).

    The order is the order of row locks, the same for every transaction, so that two of them never wait for each other.
    """
    freshest: dict[str, NewDocument] = {}
    for document in documents:
        known = freshest.get(document.pk)
        if known is None or known.freshness < document.freshness:
            freshest[document.pk] = document
    return sorted(freshest.values(), key=lambda document: (document.pk_hash, document.pk))


def judge(document: NewDocument, stored: StoredDocument | NewDocument | None) -> Outcome:
    """Return what became of a document that is not the one written, from what is stored after the transaction.

    Nothing stored, or something less fresh, can only be seen when the row was removed in between: push again. So can a
    damaged row, which the next push replaces. A damaged tombstone is complete without its content.
    """
    if stored is None or stored.freshness < document.freshness:
        return Retry()
    if document.freshness < stored.freshness:
        return Stale(stored.freshness.version, stored.freshness.epoch)
    if stored.content is None:
        return Acknowledged() if isinstance(stored, StoredDocument) and stored.is_removed else Retry()
    return Acknowledged() if document.content == stored.content else CONFLICT


def newest_positions(outcomes: Sequence[Outcome]) -> list[ShardPosition]:
    """Return the greatest position of each shard among the documents written, in shard order."""
    newest: dict[int, int] = {}
    for outcome in outcomes:
        if isinstance(outcome, Acknowledged) and outcome.position is not None:
            newest[outcome.position.shard] = max(newest.get(outcome.position.shard, 0), outcome.position.idx)
    return [ShardPosition(shard, idx) for shard, idx in sorted(newest.items())]
