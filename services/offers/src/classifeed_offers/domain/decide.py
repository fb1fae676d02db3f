"""What one record of a load does to one offer. The whole of the rules, without any input or output.

A task may reach its owner several times: as a later run after a crash. An offer that an earlier run of the same task
has written is found equal to its record; its outcome is what that run did (`last_change`), so that the statistics
of the task are those of one undisturbed run.
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
    """What only the owner can find wrong with a record, by its stable code."""

    KEPT_NOTHING = "SKIPPED_TILL_NEXT_LOAD"
    UNKNOWN_TO_PATCH = "PATCH_UNKNOWN_OFFER"


class Decision(NamedTuple):
    """The effect of one record.

    `state` is what the offer becomes, None when nothing is written. `seen` says that the load has the offer, so that
    the end of the load leaves it alone. `ban` says why moderation refuses it.
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
    """Return what `record` does to the offer of its external id.

    Args:
        record: valid as `consumers.decode` checks it: an OFFER without errors has content and a hash.
        state: the offer as it stands, None when the namespace never had it; with its content in a PATCH load.
        task_id: the task of the load.
        mode: what the load does with the namespace.
        moderation: checks each offer that is to be written.
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
    # Who keeps the offer stays as it was: a file of stocks does not bring an offer back into the feed.
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
    """Return the fields of an OfferState that follow from a standing."""
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
