"""Output of feeds for people."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1 import feed_pb2, load_pb2, task_pb2
from classifeed_cli.messages import enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.table import Table
from classifeed_cli.terminal.wrapping import one_line
from classifeed_cli.views.amounts import duration_words, time_words
from classifeed_cli.views.fetch import load_line, outcome_of, show_words
from classifeed_cli.views.load_status import is_poor, status_of

_GONE: Final = {
    load_pb2.DISPOSITION_DELETE: "offers that the file lacks are removed",
    load_pb2.DISPOSITION_MAKE_MANUAL: "offers that the file lacks are kept by hand",
}
_HOUR_S: Final = 3600


def show_feed(out: Output, feed: feed_pb2.Feed) -> None:
    """Print a feed: its settings, and the state of its fetches."""
    settings = feed.settings
    out.say(f"Feed {feed.seller_id}/{feed.namespace}: {_status(feed)}, version {feed.version}")
    if not settings.source.url:
        is_removed = feed.status == feed_pb2.FEED_STATUS_REMOVED
        changed = "removed" if is_removed else "newest"
        out.fields({"source": "uploads only; nothing is fetched", changed: time_words(feed.update_time)})
        return
    mode = enum_label(load_pb2.LoadMode.DESCRIPTOR, settings.mode or load_pb2.LOAD_MODE_REPLACE)
    gone = _GONE.get(settings.disposition or load_pb2.DISPOSITION_DELETE, "")
    currency = settings.default_currency
    out.fields({
        "link": one_line(settings.source.url),
        "sign-in": settings.source.has_credentials and "name, password or headers are stored; they are never shown",
        "every": _every(feed),
        "mode": f"{mode}: {gone if mode == 'REPLACE' else 'changes the fields in the file, of existing offers'}",
        "format": settings.format or "any; detected from the file",
        "currency": currency and f"{currency}, for amounts without one in the file",
        "changed": feed.HasField("update_time") and time_words(feed.update_time),
    })  # fmt: skip
    if feed.HasField("state"):
        _show_state(out, feed.state)


def _show_state(out: Output, state: feed_pb2.FeedSourceState) -> None:
    out.fields({
        "fetched": time_words(state.last_fetch_time) if state.HasField("last_fetch_time") else "never",
        "next": state.HasField("next_fetch_time") and time_words(state.next_fetch_time),
        "failed": state.failures and f"{state.failures} in a row",
    })  # fmt: skip
    if state.HasField("last_fetch"):
        out.fields({"newest": f"fetch {state.last_fetch.fetch_id}: {outcome_of(state.last_fetch)}"})
        show_words(out, state.last_fetch, indent=12)
        if line := load_line(state.last_fetch):
            out.say(f"{'':<12}{line}", hang=12)
            if state.last_fetch.load.error_message:
                out.say(f"{'':<12}{one_line(state.last_fetch.load.error_message)}", hang=12)


def _load(fetch: feed_pb2.Fetch) -> str:
    """Return the status of a fetch's load in a word; `poor`: no offer was accepted, or more than half were refused."""
    if not fetch.HasField("load"):
        return ""
    if fetch.load.status == task_pb2.TASK_STATUS_SUCCEEDED:
        return "poor" if is_poor(fetch.load) else "ok"
    return status_of(fetch.load)


def _status(feed: feed_pb2.Feed) -> str:
    return enum_label(feed_pb2.FeedStatus.DESCRIPTOR, feed.status)


def _last_fetch(feed: feed_pb2.Feed) -> str:
    return time_words(feed.state.last_fetch_time)[5:16] if feed.state.HasField("last_fetch_time") else "never"


def _every(feed: feed_pb2.Feed) -> str:
    interval = feed.settings.schedule.interval
    return duration_words(interval.seconds + interval.nanos / 1e9 or _HOUR_S)


FEEDS: Final = Table[feed_pb2.Feed](
    {
        "namespace": lambda feed: feed.namespace,
        "status": _status,
        "every": lambda feed: _every(feed) if feed.settings.source.url else "",
        "last fetch": lambda feed: _last_fetch(feed) if feed.settings.source.url else "",
        "load": lambda feed: _load(feed.state.last_fetch),
        "failed": lambda feed: feed.state.failures or "",
        "link": lambda feed: feed.settings.source.url or "(uploads)",
    }
)
