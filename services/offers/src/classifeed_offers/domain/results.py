"""Replies to requests: messages of the topic feeds.offer-results.v1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from classifeed.feeds.v1.load_pb2 import LoadHold, OfferError
from classifeed.feeds.v1.offer_requests_pb2 import OfferBatch, OfferRecord, RunCheck
from classifeed.feeds.v1.offer_results_pb2 import (
    BATCH_OUTCOME_APPLIED,
    BATCH_OUTCOME_REFUSED,
    BATCH_OUTCOME_STALE,
    BatchOutcome,
    LateError,
    LateResult,
    OfferBatchResult,
    OfferCounts,
    RunCheckResult,
    TaskEndOutcome,
    TaskEndResult,
)
from classifeed.moderation.v1.subject_pb2 import Ban
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.decide import Finding, RecordOutcome
from classifeed_offers.domain.issues import ban_issue, finding_issue, picture_issue
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.domain.pictures import read_pictures

_RECORD_PICTURES = 20  # the maximum number of issues that are listed per offer
# A result must fit into a message of a mebibyte together with one more warning for each record.
_RESULT_BYTES = 800_000


class BatchSummary:
    """Collects the outcomes of the records of a batch."""

    def __init__(self) -> None:
        self._outcomes: Counter[RecordOutcome] = Counter()
        self._rejected_existing = 0
        self._found: list[OfferError] = []
        self._pictures: list[OfferError] = []

    def add(
        self,
        record: OfferRecord,
        outcome: RecordOutcome,
        finding: Finding | None,
        *,
        exists: bool = False,
        ban: bytes | None = None,
    ) -> None:
        """Count a record and note its findings; `exists` says whether the namespace has the offer."""
        self._outcomes[outcome] += 1
        self._rejected_existing += exists and outcome is RecordOutcome.REJECTED_VALIDATION
        if finding is not None:
            self._found.append(finding_issue(record, finding))
        if ban is not None:
            issue = ban_issue(record.external_id, Ban.FromString(ban), ordinal=record.ordinal, line=record.line)
            self._found.append(issue)

    def add_pictures(self, record: OfferRecord, faults: bytes) -> None:
        """Note which pictures of a record are known to have failed; pictures that the record lacks are ignored.

        Args:
            record: record of the offer.
            faults: PictureRecords of the offer's failed pictures.
        """
        urls = set(record.content.picture_urls)
        failed = [picture for picture in read_pictures(faults) if picture.url in urls]
        self._pictures.extend(
            picture_issue(record.external_id, picture, ordinal=record.ordinal, line=record.line)
            for picture in failed[:_RECORD_PICTURES]
        )

    def to_keep(self, batch: OfferBatch) -> bytes:
        """Return the part of the result that must be stored to send it again; the batch itself brings the rest.

        Warnings about pictures that would make the result too large for a message are omitted.
        """
        if self._pictures:
            room = _RESULT_BYTES - sum(error.ByteSize() for record in batch.records for error in record.errors)
            for error in self._pictures:
                room -= error.ByteSize()
                if room < 0:
                    break
                self._found.append(error)
        counts = OfferCounts(**{outcome.value: count for outcome, count in self._outcomes.items()})
        counts.rejected_existing = self._rejected_existing
        return OfferBatchResult(counts=counts, errors=self._found).SerializeToString()


def applied_batch(batch: OfferBatch, kept: bytes) -> OfferBatchResult:
    """Return the result of a batch that was applied now or before, with all errors found.

    Args:
        batch: the batch as received.
        kept: return value of `BatchSummary.to_keep` when the batch was applied.
    """
    result = OfferBatchResult.FromString(kept)
    found = list(result.errors)
    del result.errors[:]
    for record in batch.records:
        result.errors.extend(record.errors)
    result.errors.extend(found)
    result.MergeFrom(_result(batch, BATCH_OUTCOME_APPLIED))
    return result


def stale_batch(batch: OfferBatch) -> OfferBatchResult:
    """Return the result of a batch that a higher run has superseded."""
    return _result(batch, BATCH_OUTCOME_STALE)


def refused_batch(batch: OfferBatch, reason: str) -> OfferBatchResult:
    """Return the result of a batch that is refused for `reason`."""
    result = _result(batch, BATCH_OUTCOME_REFUSED)
    result.reason = reason
    return result


def checked_run(check: RunCheck) -> RunCheckResult:
    """Return the reply to a check."""
    return RunCheckResult(
        seller_id=check.seller_id,
        namespace=check.namespace,
        task_id=check.task_id,
        run=check.run,
        last_batch_id=check.last_batch_id,
    )


def _result(batch: OfferBatch, outcome: BatchOutcome) -> OfferBatchResult:
    return OfferBatchResult(
        seller_id=batch.seller_id,
        namespace=batch.namespace,
        task_id=batch.task_id,
        run=batch.run,
        batch_id=batch.batch_id,
        outcome=outcome,
    )


def run_ended(
    key: RunKey,
    outcome: TaskEndOutcome,
    *,
    removed: int = 0,
    made_manual: int = 0,
    kept: int = 0,
    changed: int = 0,
    dropped: int = 0,
    missing: list[int] | None = None,
    hold: LoadHold | None = None,
) -> TaskEndResult:
    """Return the result of the end of a run."""
    return TaskEndResult(
        seller_id=key.namespace.seller_id,
        namespace=key.namespace.namespace,
        task_id=key.run.task_id,
        run=key.run.run,
        outcome=outcome,
        removed=removed,
        made_manual=made_manual,
        kept=kept,
        changed=changed,
        dropped=dropped,
        missing_batches=missing or [],
        hold=hold,
    )


def late_result(namespace: Namespace, task_id: int, errors: Sequence[LateError]) -> LateResult:
    """Return problems of a task's offers that were found after their batches."""
    return LateResult(seller_id=namespace.seller_id, namespace=namespace.namespace, task_id=task_id, errors=errors)
