"""Decide the effect of one record of a load on one offer. All rules are here, without I/O.

A task may arrive several times, as a later run after a crash. A record then equals the offer that an earlier run of
the same task has written. Its outcome is the change that the earlier run made (`last_change`), so that the task's
statistics are those of a single undisturbed run.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from classifeed.feeds.v1.load_pb2 import ISSUE_LEVEL_ERROR, LOAD_MODE_PATCH, LoadMode
from classifeed.feeds.v1.offer_requests_pb2 import (
    RECORD_KIND_DUPLICATE,
    RECORD_KIND_UNIDENTIFIED,
    OfferRecord,
)
from classifeed.offers.v1.offer_pb2 import OfferContent
from classifeed_offers.domain.moderation import Moderation, Standing
from classifeed_offers.domain.offers import Change, OfferState, Origin, Status, hash_of
from classifeed_offers.domain.patch import merge_content


class RecordOutcome(Enum):
    """The outcome of a record; the values are the fields of the contract's OfferCounts."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REJECTED_VALIDATION = "rejected_validation"
    REJECTED_MODERATION = "rejected_moderation"
    SKIPPED = "skipped"
    DUPLICATE = "duplicates"


class Finding(Enum):
    """Problems of a record that only the owner of the offers can find, by stable code."""

    KEPT_NOTHING = "SKIPPED_TILL_NEXT_LOAD"
    UNKNOWN_TO_PATCH = "PATCH_UNKNOWN_OFFER"


class Decision(NamedTuple):
    """The effect of one record.

    Attributes:
        outcome: outcome that is counted.
        seen: whether the load has the offer, so that the end of the load does not remove it.
        state: new state of the offer; None: nothing is written.
        finding: problem of the record; None: there is none.
        ban: reason why moderation refuses the offer; None: it does not.
    """

    outcome: RecordOutcome
    seen: bool = False
    state: OfferState | None = None
    finding: Finding | None = None
    ban: bytes | None = None


_OUTCOME_OF_CHANGE = {Change.ADDED: RecordOutcome.ADDED, Change.UPDATED: RecordOutcome.UPDATED}


def decide(
    record: OfferRecord, state: OfferState | None, *, task_id: int, mode: LoadMode, moderation: Moderation
) -> Decision:
    """Return the effect of `record` on the offer with its external id.

    Args:
        record: a record that `consumers.decode` has checked: an OFFER without errors has content and a hash.
        state: current offer, with its content in a PATCH load; None: the namespace never had it.
        task_id: task of the load.
        mode: effect of the load on the namespace.
        moderation: decides the status of each offer that is written.
    """
    if record.kind == RECORD_KIND_DUPLICATE:
        return Decision(RecordOutcome.DUPLICATE)
    if record.kind == RECORD_KIND_UNIDENTIFIED:
        return Decision(RecordOutcome.REJECTED_VALIDATION)
    existing = state if state is not None and state.exists else None
    if record.errors and any(error.level == ISSUE_LEVEL_ERROR for error in record.errors):
        return Decision(RecordOutcome.REJECTED_VALIDATION, seen=existing is not None)
    if record.keep_existing:
        if existing is None:
            return Decision(RecordOutcome.SKIPPED, finding=Finding.KEPT_NOTHING)
        return _unwritten(existing, task_id)
    if mode == LOAD_MODE_PATCH:
        if existing is None:
            return Decision(RecordOutcome.SKIPPED, finding=Finding.UNKNOWN_TO_PATCH)
        return _decide_patch(record, existing, task_id, moderation)
    if existing is not None and existing.content_hash == record.content_hash and existing.origin is Origin.FEED:
        return _unwritten(existing, task_id)
    standing = moderation.standing_of(record.content, state)
    written = OfferState(
        offer_id=state.offer_id if state is not None else 0,
        content_hash=record.content_hash,
        origin=Origin.FEED,
        last_task_id=task_id,
        last_change=_change_of(existing, task_id),
        last_ordinal=record.ordinal,
        last_line=record.line,
        content=record.content.SerializeToString(deterministic=True),
        **columns_of(standing),
    )
    return _written(written)


def _decide_patch(record: OfferRecord, existing: OfferState, task_id: int, moderation: Moderation) -> Decision:
    stored = existing.content or b""
    merged = merge_content(stored, record.content, record.named_fields)
    if merged == OfferContent.FromString(stored):
        return _unwritten(existing, task_id)
    standing = moderation.standing_of(merged, existing)
    # The origin stays: a file of stocks does not bring an offer back into the feed.
    written = existing._replace(
        content_hash=hash_of(merged),
        last_task_id=task_id,
        last_change=_change_of(existing, task_id),
        last_ordinal=record.ordinal,
        last_line=record.line,
        content=merged.SerializeToString(deterministic=True),
        **columns_of(standing),
    )
    return _written(written)


def _written(written: OfferState) -> Decision:
    ban = written.ban if written.status is Status.BANNED else None
    return Decision(_outcome_of_written(written), seen=True, state=written, ban=ban)


def _unwritten(existing: OfferState, task_id: int) -> Decision:
    outcome = _outcome_of_unwritten(existing, task_id)
    ban = existing.ban if outcome is RecordOutcome.REJECTED_MODERATION else None
    return Decision(outcome, seen=True, ban=ban)


def columns_of(standing: Standing) -> dict[str, Any]:
    """Return the fields of an OfferState that a standing determines."""
    return {
        "status": standing.status,
        "moderation": standing.by,
        "text_hash": standing.text_hash,
        "approved_text_hash": standing.approved_text_hash,
        "ban": standing.ban,
        "published_content": standing.published_content,
        "is_requested": standing.is_requested,
    }


def _change_of(existing: OfferState | None, task_id: int) -> Change:
    if existing is None:
        return Change.ADDED
    added_before = existing.last_task_id == task_id and existing.last_change is Change.ADDED
    return Change.ADDED if added_before else Change.UPDATED


def _outcome_of_written(written: OfferState) -> RecordOutcome:
    return (
        RecordOutcome.REJECTED_MODERATION
        if written.status is Status.BANNED
        else _OUTCOME_OF_CHANGE[written.last_change]
    )


def _outcome_of_unwritten(existing: OfferState, task_id: int) -> RecordOutcome:
    if existing.status is Status.BANNED:
        return RecordOutcome.REJECTED_MODERATION
    if existing.last_task_id == task_id:
        return _OUTCOME_OF_CHANGE.get(existing.last_change, RecordOutcome.UNCHANGED)
    return RecordOutcome.UNCHANGED
