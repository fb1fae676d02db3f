"""Adding up what became of the offers of a load."""

from __future__ import annotations

from collections.abc import Iterable

from classifeed.feeds.v1.load_pb2 import ISSUE_LEVEL_ERROR, OfferError
from classifeed.feeds.v1.offer_results_pb2 import OfferCounts
from classifeed.feeds.v1.task_pb2 import FeedStatistics, IssueCount

# Each of these stands in OfferCounts and in FeedStatistics under the same name, and their sum is the total.
OUTCOMES = ("added", "updated", "unchanged", "rejected_validation", "rejected_moderation", "skipped", "duplicates")
_SAMPLES = 3


def add_counts(statistics: FeedStatistics, counts: OfferCounts) -> None:
    """Adds one answered batch. `total` is the sum of the outcomes before and after."""
    for outcome in OUTCOMES:
        count = getattr(counts, outcome)
        if count:
            setattr(statistics, outcome, getattr(statistics, outcome) + count)
            statistics.total += count


def add_issues(statistics: FeedStatistics, errors: Iterable[OfferError]) -> None:
    """Adds the issues of one answered batch, by level, kind, code and field, the most frequent first."""
    counts = {(count.level, count.kind, count.code, count.field): count for count in statistics.issues}
    known = len(counts)
    for error in errors:
        if error.level == ISSUE_LEVEL_ERROR:
            statistics.errors += 1
        else:
            statistics.warnings += 1
        key = (error.level, error.kind, error.code, error.field)
        count = counts.get(key)
        if count is None:
            count = counts[key] = IssueCount(level=error.level, kind=error.kind, code=error.code, field=error.field)
        count.count += 1
        if len(count.sample_external_ids) < _SAMPLES and error.external_id not in count.sample_external_ids:
            count.sample_external_ids.append(error.external_id)
    if counts:
        ordered = [IssueCount.FromString(count.SerializeToString()) for count in sorted(counts.values(), key=_rank)]
        if known != len(ordered) or ordered != list(statistics.issues):
            del statistics.issues[:]
            statistics.issues.extend(ordered)


def add_stage(statistics: FeedStatistics, stage: str, seconds: float) -> None:
    """Adds the time that a stage took; of a stage that ran again, all of it."""
    entry = next((entry for entry in statistics.stages if entry.stage == stage), None)
    if entry is None:
        entry = statistics.stages.add(stage=stage)
    nanos = entry.duration.ToNanoseconds() + int(seconds * 1_000_000_000)
    entry.duration.FromNanoseconds(nanos)


def _rank(count: IssueCount) -> tuple[int, int, str, str]:
    return (-count.count, count.level, count.code, count.field)
