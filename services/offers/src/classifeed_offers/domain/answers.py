"""The answers to requests: messages of the topic feeds.offer-results.v1."""

from __future__ import annotations

from collections import Counter

from classifeed.feeds.v1.load_pb2 import ISSUE_KIND_VALIDATION, ISSUE_LEVEL_WARNING, OfferError
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, OfferRecord
from classifeed.feeds.v1.offer_results_pb2 import (
    BATCH_OUTCOME_APPLIED,
    BATCH_OUTCOME_STALE,
    OfferBatchResult,
    OfferCounts,
    TaskEndOutcome,
    TaskEndResult,
)
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.decide import Fate, Finding
from classifeed_offers.domain.offers import digest_of

_WORDS = {
    Finding.KEPT_NOTHING: (
        "Skipped till the next load",
        "A step of the load failed for a passing reason, and there is no earlier version of this offer to keep.",
        "Nothing: the next load tries again.",
    ),
    Finding.UNKNOWN_TO_PATCH: (
        "No such offer to change",
        "The file changes prices or stocks of existing offers, and this namespace has no offer with this id.",
        "Load the full feed with this offer first, or correct the id.",
    ),
}


class BatchAnswer:
    """Gathers what became of a batch's records into its OfferBatchResult."""

    def __init__(self, batch: OfferBatch) -> None:
        self._batch = batch
        self._fates: Counter[Fate] = Counter()
        self._errors: list[OfferError] = []

    def add(self, record: OfferRecord, fate: Fate, finding: Finding | None) -> None:
        """Count a record; everything found wrong with it, there or here, travels back."""
        self._fates[fate] += 1
        if record.errors:
            self._errors.extend(record.errors)
        if finding is not None:
            self._errors.append(_warning(record, finding))

    def applied(self) -> OfferBatchResult:
        """Return the answer to a batch that was applied."""
        result = stale_batch(self._batch)
        result.outcome = BATCH_OUTCOME_APPLIED
        result.counts.CopyFrom(OfferCounts(**{fate.value: count for fate, count in self._fates.items()}))
        result.errors.extend(self._errors)
        return result


def stale_batch(batch: OfferBatch) -> OfferBatchResult:
    """Return the answer to a batch that a higher run has overtaken."""
    return OfferBatchResult(
        seller_id=batch.seller_id,
        namespace=batch.namespace,
        task_id=batch.task_id,
        run=batch.run,
        batch_id=batch.batch_id,
        outcome=BATCH_OUTCOME_STALE,
    )


def run_ended(
    key: RunKey, outcome: TaskEndOutcome, *, removed: int = 0, made_manual: int = 0, missing: list[int] | None = None
) -> TaskEndResult:
    """Return the answer to the end of a run."""
    return TaskEndResult(
        seller_id=key.namespace.seller_id,
        namespace=key.namespace.namespace,
        task_id=key.run.task_id,
        run=key.run.run,
        outcome=outcome,
        removed=removed,
        made_manual=made_manual,
        missing_batches=missing or [],
    )


def _warning(record: OfferRecord, finding: Finding) -> OfferError:
    title, message, suggestion = _WORDS[finding]
    return OfferError(
        # Of what it says only: a later run of the task reports it under the same id, and it is stored once.
        error_id=digest_of(f"{record.external_id}\0{finding.value}".encode()).hex(),
        external_id=record.external_id,
        ordinal=record.ordinal,
        level=ISSUE_LEVEL_WARNING,
        kind=ISSUE_KIND_VALIDATION,
        code=finding.value,
        line=record.line,
        title=title,
        message=message,
        suggestion=suggestion,
    )
