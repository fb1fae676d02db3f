"""Statistics of a load: sums of the outcomes and issues of its offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from classifeed.feeds.v1.load_pb2 import ISSUE_LEVEL_ERROR, OfferError
from classifeed.feeds.v1.offer_results_pb2 import OfferCounts
from classifeed.feeds.v1.task_pb2 import FeedStatistics, IssueCount

# Fields of both OfferCounts and FeedStatistics; their sum is the total.
OUTCOMES = ("added", "updated", "unchanged", "rejected_validation", "rejected_moderation", "skipped", "duplicates")
LISTED_A_CODE: Final = 100
LISTED_A_TASK: Final = 10_000
NOTED_A_TASK: Final = 10_000
"""Maximum number of late errors of a task that are stored to count each once."""
COUNTED_FIELDS: Final = 500
FURTHER_FIELDS: Final = "…"
_SAMPLES: Final = 3


def add_counts(statistics: FeedStatistics, counts: OfferCounts) -> None:
    """Add the counts of a batch's reply. `total` stays the sum of the outcomes."""
    for outcome in OUTCOMES:
        count = getattr(counts, outcome)
        if count:
            setattr(statistics, outcome, getattr(statistics, outcome) + count)
            statistics.total += count
    statistics.rejected_existing += counts.rejected_existing


def add_changed(statistics: FeedStatistics, changed: int) -> None:
    """Count changes as updated that waited for the end of the run and were counted as skipped until then.

    Changes whose replies were lost were not counted as skipped, and are not counted here.
    """
    counted = min(changed, statistics.skipped)
    statistics.skipped -= counted
    statistics.updated += counted


def move_late(statistics: FeedStatistics, counted: str) -> None:
    """Move one offer from `counted` (added or updated) to rejected_moderation; the total does not change.

    If `counted` is 0, because replies were lost, nothing is moved.
    """
    if getattr(statistics, counted):
        setattr(statistics, counted, getattr(statistics, counted) - 1)
        statistics.rejected_moderation += 1


class KeptIssues(NamedTuple):
    """Issues of one batch by how they are stored.

    Attributes:
        rows: issues that get a row each.
        further: issues that are stored in chunks.
    """

    rows: list[OfferError]
    further: list[OfferError]


def add_issues(statistics: FeedStatistics, errors: Iterable[OfferError]) -> KeptIssues:
    """Count the issues of a batch's reply by level, kind, code and field, the most frequent first.

    Every issue is counted and returned for storage. The first LISTED_A_CODE issues of a code, and LISTED_A_TASK of a
    run, are rows, and all others are further ones. A file chooses the names of its fields, so fields past
    COUNTED_FIELDS are counted as one per code. An issue without an id, from an older release, is only counted.
    """
    counts = {(count.level, count.kind, count.code, count.field): count for count in statistics.issues}
    listed_of: Counter[str] = Counter()
    for count in statistics.issues:
        listed_of[count.code] += count.count - count.unlisted - count.further
    listed = listed_of.total()
    kept = KeptIssues([], [])
    is_changed = False
    for error in errors:
        if error.level == ISSUE_LEVEL_ERROR:
            statistics.errors += 1
        else:
            statistics.warnings += 1
        key = (error.level, error.kind, error.code, error.field)
        if key not in counts and len(counts) >= COUNTED_FIELDS:
            key = (*key[:3], FURTHER_FIELDS)
        count = counts.get(key) or IssueCount(level=key[0], kind=key[1], code=key[2], field=key[3])
        counts[key] = count
        count.count += 1
        if len(count.sample_external_ids) < _SAMPLES and error.external_id not in count.sample_external_ids:
            count.sample_external_ids.append(error.external_id)
        if not error.error_id:
            count.unlisted += 1
        elif listed_of[error.code] < LISTED_A_CODE and listed < LISTED_A_TASK:
            listed_of[error.code] += 1
            listed += 1
            kept.rows.append(error)
        else:
            count.further += 1
            kept.further.append(error)
        is_changed = True
    if is_changed:
        ordered = [IssueCount.FromString(count.SerializeToString()) for count in sorted(counts.values(), key=_rank)]
        del statistics.issues[:]
        statistics.issues.extend(ordered)
    return kept


def unlisted_of(statistics: FeedStatistics, *, level: int, kind: int, code: str) -> dict[str, int]:
    """Return the number of counted issues that are not listed, by code; level, kind and code filter if set."""
    unlisted: Counter[str] = Counter()
    for count in statistics.issues:
        if level in (0, count.level) and kind in (0, count.kind) and code in ("", count.code):
            unlisted[count.code] += count.unlisted
    return {name: number for name, number in unlisted.most_common() if number}


def add_stage(statistics: FeedStatistics, stage: str, seconds: float) -> None:
    """Add the duration of a stage; repeated stages are summed."""
    entry = next((entry for entry in statistics.stages if entry.stage == stage), None)
    if entry is None:
        entry = statistics.stages.add(stage=stage)
    nanos = entry.duration.ToNanoseconds() + int(seconds * 1_000_000_000)
    entry.duration.FromNanoseconds(nanos)


def _rank(count: IssueCount) -> tuple[int, int, str, str]:
    return (-count.count, count.level, count.code, count.field)
