"""Output of fetches for people: their times, outcomes and errors."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1 import feed_pb2, task_pb2
from classifeed_cli.developer_hints import hint_of
from classifeed_cli.messages import enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.table import Table
from classifeed_cli.views.amounts import duration_words, size_words, time_words
from classifeed_cli.views.load_status import standing_of

_WITH_REASON: Final = frozenset(
    {feed_pb2.FETCH_OUTCOME_QUEUED, feed_pb2.FETCH_OUTCOME_FAILED, feed_pb2.FETCH_OUTCOME_DROPPED}
)
# If the status of the load is unknown, the outcome is "fetched".
_LOADED: Final = {
    task_pb2.TASK_STATUS_IN_PROGRESS: "loading",
    task_pb2.TASK_STATUS_HELD: "load held",
    task_pb2.TASK_STATUS_SUCCEEDED: "loaded",
    task_pb2.TASK_STATUS_FAILED: "load failed",
    task_pb2.TASK_STATUS_SUPERSEDED: "superseded",
    task_pb2.TASK_STATUS_CANCELED: "load canceled",
}


def outcome_of(fetch: feed_pb2.Fetch) -> str:
    """Return the outcome of a fetch in lower case; if it loaded a file, the status of that load."""
    if fetch.outcome == feed_pb2.FETCH_OUTCOME_LOADED:
        return _LOADED.get(fetch.load.status, "fetched")
    return enum_label(feed_pb2.FetchOutcome.DESCRIPTOR, fetch.outcome).lower().replace("_", " ")


def load_line(fetch: feed_pb2.Fetch) -> str:
    """Return the status of a fetch's load; empty if it is unknown, or if it is an earlier load that succeeded."""
    if not fetch.HasField("load"):
        return ""
    if fetch.outcome != feed_pb2.FETCH_OUTCOME_LOADED and fetch.load.status == task_pb2.TASK_STATUS_SUCCEEDED:
        return ""
    return f"load {fetch.task.rpartition('/')[2]}: {standing_of(fetch.load)}"


FETCHES: Final = Table[feed_pb2.Fetch](
    {
        "fetch": lambda fetch: fetch.fetch_id,
        "when": lambda fetch: time_words(fetch.start_time if fetch.HasField("start_time") else fetch.create_time),
        "outcome": outcome_of,
        "http": lambda fetch: fetch.http_status or "",
        "size": lambda fetch: size_words(fetch.bytes) if fetch.bytes else "",
        "task": lambda fetch: fetch.task.rpartition("/")[2],
    },
    below=lambda fetch: [*(words_of(fetch) if fetch.outcome in _WITH_REASON else ()), load_line(fetch)],
)
"""Fetches, with the errors of those that did not fetch the file."""


def show_fetch(out: Output, fetch: feed_pb2.Fetch) -> None:
    """Print a fetch: its outcome, and the reason."""
    out.say(f"Fetch {fetch.fetch_id} of {fetch.seller_id}/{fetch.namespace}: {outcome_of(fetch)}")
    particulars = [
        f"HTTP {fetch.http_status}" if fetch.http_status else "",
        size_words(fetch.bytes) if fetch.bytes else "",
        f"from {fetch.final_url}" if fetch.final_url else "",
    ]
    if fetch.HasField("start_time") and fetch.HasField("end_time"):
        taken_s = fetch.end_time.ToNanoseconds() / 1e9 - fetch.start_time.ToNanoseconds() / 1e9
        particulars.append(f"in {duration_words(taken_s)}")
    if any(particulars):
        out.say(f"  {', '.join(filter(None, particulars))}")
    show_words(out, fetch, indent=2)
    if fetch.outcome != feed_pb2.FETCH_OUTCOME_LOADED and (line := load_line(fetch)):
        out.say(f"  {line}", hang=2)


def show_words(out: Output, fetch: feed_pb2.Fetch, *, indent: int) -> None:
    """Print code and message of a fetch, and the hint for developers."""
    for line in words_of(fetch):
        out.say(" " * indent + line, hang=indent)


def words_of(fetch: feed_pb2.Fetch) -> list[str]:
    """Return a line with code and message of a fetch, and a line with the hint for developers, if there are any."""
    return [line for line in (": ".join(filter(None, (fetch.code, fetch.message))), hint_of(fetch.code)) if line]
