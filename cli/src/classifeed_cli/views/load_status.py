"""Status of a load in one line, shared by the output of tasks, fetches and feeds."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1 import feed_pb2, load_pb2, task_pb2
from classifeed_cli.messages import enum_label
from classifeed_cli.terminal.wrapping import one_line

_MANY: Final = 0.5
_NAMED: Final = 3


def status_of(load: task_pb2.Task | feed_pb2.FetchLoad) -> str:
    """Return the status of a load as a word."""
    return enum_label(task_pb2.TaskStatus.DESCRIPTOR, load.status)


def load_of(task: task_pb2.Task) -> feed_pb2.FetchLoad:
    """Return the status of a task in the form of a fetch's load."""
    return feed_pb2.FetchLoad(
        status=task.status,
        error_code=task.error_code,
        error_message=task.error_message,
        error_line=task.error_line,
        statistics=task.statistics,
    )


def result_of(load: task_pb2.Task | feed_pb2.FetchLoad) -> str:
    """Return the error of the file, or the counts that are not zero; empty if there are none yet."""
    if load.error_code:
        return f"{load.error_code} in line {load.error_line}" if load.error_line else load.error_code
    numbers = load.statistics
    counts = (
        (numbers.added, "added"),
        (numbers.updated, "updated"),
        (numbers.unchanged, "unchanged"),
        (_refused(numbers), "rejected"),
        (numbers.skipped, "skipped"),
        (numbers.duplicates, "with a duplicate id"),
        (numbers.removed, "removed"),
        (numbers.made_manual, "kept by hand"),
    )
    text = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    return f"{numbers.total:,} offers: {text}" if numbers.total else text


def standing_of(load: feed_pb2.FetchLoad) -> str:
    """Return the status of a load, with the error of its file or the counts of its offers."""
    return " ".join(filter(None, (status_of(load), result_of(load))))


def is_poor(load: task_pb2.Task | feed_pb2.FetchLoad) -> bool:
    """Return whether a load that SUCCEEDED accepted no offers, or refused more than half of them."""
    if load.status != task_pb2.TASK_STATUS_SUCCEEDED:
        return False
    return not _taken(load.statistics) or refused_share(load.statistics) > _MANY


def refused_share(numbers: task_pb2.FeedStatistics) -> float:
    """Return the share of a file's offers that were rejected, by errors in the file or by moderation; 0 to 1."""
    return _refused(numbers) / numbers.total if numbers.total else 0.0


def caution_of(task: task_pb2.Task) -> str:
    """Return a warning if a load that SUCCEEDED accepted few or no offers; otherwise empty."""
    if task.kind == task_pb2.TASK_KIND_DELETE or not is_poor(task):
        return ""
    numbers = task.statistics
    if not numbers.total:
        return "but the file has no offers"
    if _refused(numbers):
        return f"but {_refused(numbers):,} of {numbers.total:,} offers were refused"
    return f"but none of its {numbers.total:,} offers was accepted"


def stays_of(task: task_pb2.Task) -> str:
    """Return a sentence about offers that keep their state of an earlier load; empty if there are few or none."""
    if not is_poor(task) or not task.statistics.rejected_validation:
        return ""
    wrong = [each for each in task.statistics.issues if each.level == load_pb2.ISSUE_LEVEL_ERROR]
    names = list(dict.fromkeys(one_line(each) for issue in wrong for each in issue.sample_external_ids))
    such = f" (such as {', '.join(names[:_NAMED])})" if names else ""
    count, known = task.statistics.rejected_validation, task.statistics.rejected_existing
    # Loads of earlier versions have no count.
    those = f"the {known:,}" if known else "those"
    return (
        f"Of the {count:,} with errors{such}, {those} of earlier loads keep their former state, with the old prices; "
        "new ones were not created."
    )


def _refused(numbers: task_pb2.FeedStatistics) -> int:
    return numbers.rejected_validation + numbers.rejected_moderation


def _taken(numbers: task_pb2.FeedStatistics) -> int:
    return numbers.added + numbers.updated + numbers.unchanged
