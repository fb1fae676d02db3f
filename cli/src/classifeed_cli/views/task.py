"""Output of a task for people: the outcome of its file, in a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed_cli.messages import enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.table import Table
from classifeed_cli.terminal.wrapping import one_line
from classifeed_cli.views.amounts import size_words
from classifeed_cli.views.hold import show_hold
from classifeed_cli.views.load_status import caution_of, status_of, stays_of
from classifeed_cli.views.place import place_of

_COUNTS: Final = (
    ("added", "added"),
    ("updated", "updated"),
    ("unchanged", "unchanged"),
    ("rejected_validation", "rejected: errors in the file"),
    ("rejected_moderation", "rejected by moderation"),
    ("skipped", "skipped"),
    ("duplicates", "with a duplicate id"),
)
_GONE: Final = (("removed", "removed"), ("made_manual", "kept by hand"))

_ISSUES: Final = Table[task_pb2.IssueCount](
    {
        "level": lambda issue: enum_label(load_pb2.IssueLevel.DESCRIPTOR, issue.level).lower(),
        "count": lambda issue: f"{issue.count:,}",
        "code": lambda issue: issue.code,
        "field": lambda issue: issue.field,
        "for example": lambda issue: ", ".join(issue.sample_external_ids),
    }
)


def source_of(task: task_pb2.Task) -> str:
    """Return the source of a task in a few words."""
    if task.kind == task_pb2.TASK_KIND_DELETE:
        return "(feed removed)"
    if task.rerun_of:
        again = f"file of load {task.rerun_of.rpartition('/')[2]} again"
        return f"{one_line(task.file_name)} ({again})" if task.file_name else again
    return one_line(task.file_name) or (f"fetch {task.fetch.rpartition('/')[2]}" if task.fetch else "(no name)")


def show_task(out: Output, task: task_pb2.Task) -> None:
    """Print a task."""
    numbers = task.statistics
    caution = caution_of(task)
    head = f"Task {task.task_id} of {task.seller_id}/{task.namespace}: {status_of(task)}"
    out.say(f"{head}, {caution}" if caution else head)
    size = size_words(task.source_bytes) if task.source_bytes else ""
    out.say(f"  file      {', '.join(filter(None, (source_of(task), size, task.format)))}", hang=12)
    if task.error_code:
        place = f" (line {task.error_line}, column {task.error_column})" if task.error_line else ""
        out.say(f"  fault     {task.error_code}{place}")
        for line in task.error_message.split("\n"):
            out.say(f"            {one_line(line)}", hang=14 if line.startswith("- ") else 12)
    for warning in task.warnings:
        out.say(f"  note      {one_line(warning)}", hang=12)
    if stays := stays_of(task):
        out.say(f"  stays     {stays}", hang=12)
    if not numbers.total and task.error_code:
        return
    is_load = task.kind != task_pb2.TASK_KIND_DELETE
    rate = f" ({numbers.offers_per_second:,.0f} a second)" if numbers.offers_per_second else ""
    if is_load:
        out.say(f"  offers    {numbers.total:,}{rate}")
    for field, words in _COUNTS:
        if value := getattr(numbers, field):
            waits = field == "skipped" and task.status == task_pb2.TASK_STATUS_HELD and task.hold.changes
            out.say(f"    {value:>9,}  {words}{f': {task.hold.changes:,} of them wait' if waits else ''}")
    for field, words in _GONE:
        if value := getattr(numbers, field):
            reason = ", as the file lacks them" if is_load else ""
            out.say(f"  {value:>11,}  offers of earlier loads {words}{reason}")
    if numbers.issues:
        out.say("")
        out.rows(_ISSUES, numbers.issues)
        show_lost(out, task)
        look = f"classifeed task errors {task.seller_id} {task.namespace} {task.task_id}"
        out.say(f"What to change, line by line:\n  {look}")
    show_hold(out, task)


def show_lost(out: Output, load: task_pb2.Task, *, code: str = "") -> None:
    """Print the number of issues that an older version counted without storing them, and how to get them."""
    lost = unlisted_of(load.statistics, code=code)
    if lost:
        counts = ", ".join(f"{count:,} with {code}" for code, count in lost.items())
        again = f"classifeed task rerun {load.seller_id} {load.namespace} {load.task_id}"
        out.say(
            f"Further issues were counted and not kept by the version that loaded this file: {counts}. Load the file "
            f"again to see them: `{again}`."
        )


def show_errors(out: Output, errors: Sequence[load_pb2.OfferError], titles: Mapping[int, str] | None = None) -> None:
    """Print errors in offers, one block each: offer and place, message, and fix.

    Args:
        out: Output of the command.
        errors: Errors to print.
        titles: Titles of offers by their position in the file, if they are known.
    """
    for error in errors:
        level = enum_label(load_pb2.IssueLevel.DESCRIPTOR, error.level).lower()
        title = (titles or {}).get(error.ordinal)
        name = f"{one_line(error.external_id)} “{one_line(title)}”" if title else one_line(error.external_id)
        out.say(f"{name}, {place_of(error)}: {error.title} ({level} {error.code})")
        out.say(f"  {one_line(error.message)}", hang=2)
        if error.suggestion:
            out.say(f"  {one_line(error.suggestion)}", hang=2)


def unlisted_of(statistics: task_pb2.FeedStatistics, *, code: str = "") -> Mapping[str, int]:
    """Return the number of issues that were counted without being stored, by code; with `code`, only of that code."""
    unlisted: Counter[str] = Counter()
    for issue in statistics.issues:
        if code in ("", issue.code):
            unlisted[issue.code] += issue.unlisted
    return +unlisted
