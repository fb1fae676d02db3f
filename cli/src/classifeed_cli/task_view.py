"""A task for people: what became of the file, in a few lines."""

from __future__ import annotations

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed_cli.messages import enum_label
from classifeed_cli.output import Output

_COUNTS = (
    ("added", "added"),
    ("updated", "updated"),
    ("unchanged", "unchanged"),
    ("rejected_validation", "rejected: errors in the file"),
    ("rejected_moderation", "rejected by moderation"),
    ("skipped", "skipped"),
    ("duplicates", "repeat an id of the file"),
)
_GONE = (("removed", "removed, as the file lacks them"), ("made_manual", "kept by hand, as the file lacks them"))


def status_of(task: task_pb2.Task) -> str:
    """Returns the task's status as a word."""
    return enum_label(task_pb2.TaskStatus.DESCRIPTOR, task.status)


def show_task(out: Output, task: task_pb2.Task) -> None:
    """Prints a task."""
    numbers = task.statistics
    size = f"{task.source_bytes / 1024:,.0f} KiB" if task.source_bytes >= 1024 else f"{task.source_bytes} bytes"
    out.say(f"Task {task.task_id} of {task.seller_id}/{task.namespace}: {status_of(task)}")
    out.say(f"  file      {task.file_name or '(no name)'}, {size}{f', {task.format}' if task.format else ''}")
    if task.error_code:
        place = f" (line {task.error_line}, column {task.error_column})" if task.error_line else ""
        out.say(f"  fault     {task.error_code}{place}")
        out.say(f"            {task.error_message}")
    for warning in task.warnings:
        out.say(f"  note      {warning}")
    if not numbers.total and task.error_code:
        return
    rate = f", {numbers.offers_per_second:,.0f} a second" if numbers.offers_per_second else ""
    out.say(f"  offers    {numbers.total:,}{rate}")
    for field, words in _COUNTS:
        if value := getattr(numbers, field):
            out.say(f"    {value:>9,}  {words}")
    for field, words in _GONE:
        if value := getattr(numbers, field):
            out.say(f"  {value:>11,}  offers of earlier loads {words}")
    if numbers.issues:
        out.say("")
        out.table(
            ("level", "count", "code", "field", "for example"),
            (
                (
                    enum_label(load_pb2.IssueLevel.DESCRIPTOR, issue.level).lower(),
                    f"{issue.count:,}",
                    issue.code,
                    issue.field,
                    ", ".join(issue.sample_external_ids),
                )
                for issue in numbers.issues
            ),
        )


def show_errors(out: Output, errors: list[load_pb2.OfferError]) -> None:
    """Prints what is wrong with offers, one block each: where, what, and what to do."""
    for error in errors:
        level = enum_label(load_pb2.IssueLevel.DESCRIPTOR, error.level).lower()
        place = f"line {error.line}" if error.line else f"offer {error.ordinal} of the file"
        out.say(f"{error.external_id}, {place}: {error.title} ({level} {error.code})")
        out.say(f"  {error.message}")
        if error.suggestion:
            out.say(f"  {error.suggestion}")
