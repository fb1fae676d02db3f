"""Output of the loads of a namespace for people: their times, durations and outcomes."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1 import task_pb2
from classifeed_cli.terminal.table import Table
from classifeed_cli.views.amounts import duration_words, time_words
from classifeed_cli.views.hold import describe_hold
from classifeed_cli.views.load_status import result_of, status_of
from classifeed_cli.views.task import source_of


def _took(task: task_pb2.Task) -> str:
    """Return the time from the creation of the task to its completion, including its wait; empty until then."""
    if not task.HasField("end_time"):
        return ""
    return duration_words((task.end_time.ToNanoseconds() - task.create_time.ToNanoseconds()) / 1e9)


def _became(task: task_pb2.Task) -> str:
    held = describe_hold(task.hold) if task.status == task_pb2.TASK_STATUS_HELD else ""
    return "; ".join(filter(None, (result_of(task), held)))


TASKS: Final = Table[task_pb2.Task](
    {
        "task": lambda task: task.task_id,
        "when": lambda task: time_words(task.create_time),
        "status": status_of,
        "took": _took,
        "file": source_of,
    },
    below=lambda task: [_became(task)],
)
"""Loads, with the counts that are not zero, or the error of the file."""
