"""Output of feeds for people."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed.feeds.v1 import feed_pb2, load_pb2, task_pb2
from classifeed_cli.messages import enum_label
from classifeed_cli.terminal.output import Output
from classifeed_cli.terminal.wrapping import one_line
from classifeed_cli.views.amounts import duration_words, time_words
from classifeed_cli.views.fetch import load_line, outcome_of, show_words
from classifeed_cli.views.load_status import is_poor, status_of

_GONE = {
    load_pb2.DISPOSITION_DELETE: "offers that the file lacks are removed",
    load_pb2.DISPOSITION_MAKE_MANUAL: "offers that the file lacks are kept by hand",
}
_HOUR_S = 3600


def show_feed(out: Output, feed: feed_pb2.Feed) -> None:
    """Print a feed: its settings, and the state of its fetches."""
    settings = feed.settings
    out.say(f"Feed {feed.seller_id}/{feed.namespace}: {_status(feed)}, version {feed.version}")
    if not settings.source.url:
        _line(out, "source", "uploads only; nothing is fetched")
        is_removed = feed.status == feed_pb2.FEED_STATUS_REMOVED
        _line(out, "removed" if is_removed else "newest", time_words(feed.update_time))
        return
    _line(out, "link", one_line(settings.source.url))
    if settings.source.has_credentials:
        _line(out, "sign-in", "name, password or headers are stored; they are never shown")
    _line(out, "every", _every(feed))
    mode = enum_label(load_pb2.LoadMode.DESCRIPTOR, settings.mode or load_pb2.LOAD_MODE_REPLACE)
    gone = _GONE.get(settings.disposition or load_pb2.DISPOSITION_DELETE, "")
    _line(out, "mode", f"{mode}: {gone if mode == 'REPLACE' else 'changes the fields in the file, of existing offers'}")
    _line(out, "format", settings.format or "any; detected from the file")
    if settings.default_currency:
        _line(out, "currency", f"{settings.default_currency}, for amounts without one in the file")
    if feed.HasField("update_time"):
        _line(out, "changed", time_words(feed.update_time))
    if feed.HasField("state"):
        _show_state(out, feed.state)


def show_feeds(out: Output, feeds: Sequence[feed_pb2.Feed]) -> None:
    """Print feeds as a table."""
    out.table(
        ("namespace", "status", "every", "last fetch", "load", "failed", "link"),
        (
            (
                feed.namespace,
                _status(feed),
                _every(feed) if feed.settings.source.url else "",
                _last_fetch(feed) if feed.settings.source.url else "",
                _load(feed.state.last_fetch),
                feed.state.failures or "",
                feed.settings.source.url or "(uploads)",
            )
            for feed in feeds
        ),
    )


def _show_state(out: Output, state: feed_pb2.FeedSourceState) -> None:
    fetched = time_words(state.last_fetch_time) if state.HasField("last_fetch_time") else "never"
    _line(out, "fetched", fetched)
    if state.HasField("next_fetch_time"):
        _line(out, "next", time_words(state.next_fetch_time))
    if state.failures:
        _line(out, "failed", f"{state.failures} in a row")
    if state.HasField("last_fetch"):
        _line(out, "newest", f"fetch {state.last_fetch.fetch_id}: {outcome_of(state.last_fetch)}")
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


def _line(out: Output, label: str, text: str) -> None:
    out.say(f"  {label:<9} {text}", hang=12)


def _status(feed: feed_pb2.Feed) -> str:
    return enum_label(feed_pb2.FeedStatus.DESCRIPTOR, feed.status)


def _last_fetch(feed: feed_pb2.Feed) -> str:
    return time_words(feed.state.last_fetch_time)[5:16] if feed.state.HasField("last_fetch_time") else "never"


def _every(feed: feed_pb2.Feed) -> str:
    interval = feed.settings.schedule.interval
    return duration_words(interval.seconds + interval.nanos / 1e9 or _HOUR_S)
