"""The loads of a namespace for people: when each came, how long it took, and what became of its offers."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed.feeds.v1 import task_pb2
from classifeed_cli.amounts import duration_words, time_words
from classifeed_cli.output import Output
from classifeed_cli.task_view import source_of, status_of


def show_tasks(out: Output, tasks: Sequence[task_pb2.Task]) -> None:
    """Prints a line for each load, and below it the counts that are not zero, or the fault of the file."""
    out.entries(
        ("task", "when", "status", "took", "file"),
        [
            (
                (task.task_id, time_words(task.create_time), status_of(task), _took(task), source_of(task)),
                [_became(task)],
            )
            for task in tasks
        ],
    )


def _took(task: task_pb2.Task) -> str:
    """From the making of the task to its end, so with the wait for its turn; empty until it has ended."""
    if not task.HasField("end_time"):
        return ""
    return duration_words((task.end_time.ToNanoseconds() - task.create_time.ToNanoseconds()) / 1e9)


def _became(task: task_pb2.Task) -> str:
    if task.error_code:
        return f"{task.error_code} in line {task.error_line}" if task.error_line else task.error_code
    numbers = task.statistics
    counts = (
        (numbers.added, "added"),
        (numbers.updated, "updated"),
        (numbers.unchanged, "unchanged"),
        (numbers.rejected_validation + numbers.rejected_moderation, "rejected"),
        (numbers.skipped, "skipped"),
        (numbers.duplicates, "repeat an id"),
        (numbers.removed, "removed"),
        (numbers.made_manual, "kept by hand"),
    )
    said = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    return f"{numbers.total:,} offers: {said}" if numbers.total else said
