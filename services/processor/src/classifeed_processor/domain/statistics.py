"""Adding up what became of the offers of a load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from classifeed.feeds.v1.load_pb2 import ISSUE_LEVEL_ERROR, OfferError
from classifeed.feeds.v1.offer_results_pb2 import OfferCounts
from classifeed.feeds.v1.task_pb2 import FeedStatistics, IssueCount

# Each of these stands in OfferCounts and in FeedStatistics under the same name, and their sum is the total.
OUTCOMES = ("added", "updated", "unchanged", "rejected_validation", "rejected_moderation", "skipped", "duplicates")
LISTED_A_CODE: Final = 100
LISTED_A_TASK: Final = 10_000
NOTED_A_TASK: Final = 10_000
"""Errors that came late of which it is noted that they were counted."""
COUNTED_FIELDS: Final = 500
FURTHER_FIELDS: Final = "…"
_SAMPLES: Final = 3


def add_counts(statistics: FeedStatistics, counts: OfferCounts) -> None:
    """Add one batch that got its reply. `total` is the sum of the outcomes before and after."""
    for outcome in OUTCOMES:
        count = getattr(counts, outcome)
        if count:
            setattr(statistics, outcome, getattr(statistics, outcome) + count)
            statistics.total += count
    statistics.rejected_existing += counts.rejected_existing


def add_changed(statistics: FeedStatistics, changed: int) -> None:
    """Count changes as updated that waited for the end of the run, and were skipped until then.

    Of those whose replies were lost nothing is counted.
    """
    counted = min(changed, statistics.skipped)
    statistics.skipped -= counted
    statistics.updated += counted


def move_late(statistics: FeedStatistics, counted: str) -> None:
    """Count one offer as refused by moderation that was counted as `counted`, added or updated; the sum stays.

    Where none is counted so, as the replies were lost, nothing moves.
    """
    if getattr(statistics, counted):
        setattr(statistics, counted, getattr(statistics, counted) - 1)
        statistics.rejected_moderation += 1


class KeptIssues(NamedTuple):
    """Issues of one batch by how they are stored.

    Attributes:
        rows: those that get a row each.
        further: those that are stored in chunks.
    """

    rows: list[OfferError]
    further: list[OfferError]


def add_issues(statistics: FeedStatistics, errors: Iterable[OfferError]) -> KeptIssues:
    """Add the issues of one batch that got its reply, by level, kind, code and field, the most frequent first.

    Every issue is counted, and returned to be stored: of a run, the first LISTED_A_CODE of a code and LISTED_A_TASK in
    all as rows, all others as further ones. As a file names its fields itself, fields past COUNTED_FIELDS are counted
    as one of a code. An issue without an id, which a processor before all issues were kept has sent, is counted only.
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
    """Return how many issues are counted and not listed, by code; of this level, kind and code where they are set."""
    unlisted: Counter[str] = Counter()
    for count in statistics.issues:
        if level in (0, count.level) and kind in (0, count.kind) and code in ("", count.code):
            unlisted[count.code] += count.unlisted
    return {name: number for name, number in unlisted.most_common() if number}


def add_stage(statistics: FeedStatistics, stage: str, seconds: float) -> None:
    """Add the time that a stage took; of a stage that ran again, all of it."""
    entry = next((entry for entry in statistics.stages if entry.stage == stage), None)
    if entry is None:
        entry = statistics.stages.add(stage=stage)
    nanos = entry.duration.ToNanoseconds() + int(seconds * 1_000_000_000)
    entry.duration.FromNanoseconds(nanos)


def _rank(count: IssueCount) -> tuple[int, int, str, str]:
    return (-count.count, count.level, count.code, count.field)
