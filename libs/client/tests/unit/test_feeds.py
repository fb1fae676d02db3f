"""Calls for feeds, over a real channel to a servicer in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from classifeed.feeds.v1 import (
    explanation_pb2,
    feed_pb2,
    feed_service_pb2,
    feed_source_service_pb2,
    format_pb2,
    load_pb2,
    task_pb2,
)
from classifeed.feeds.v1.feed_service_pb2_grpc import FeedServiceServicer, add_FeedServiceServicer_to_server
from classifeed_client import Addresses, Client, DeadlineExceeded, Refused, Unreachable

NAME = "sellers/shop/feeds/default"
RUNNING = feed_pb2.Fetch(
    name=f"{NAME}/fetches/4",
    seller_id="shop",
    namespace="default",
    fetch_id=4,
    outcome=feed_pb2.FETCH_OUTCOME_RUNNING,
)


# The generated types are for an asynchronous server, but this server is synchronous.
SyncServicer: Any = FeedServiceServicer


class Feeds(SyncServicer):  # type: ignore[misc]
    """Records its requests. A fetch completes after `rounds` polls; the first poll meets a restart."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.rounds = 2

    def CreateFeed(self, request: Any, context: Any) -> feed_pb2.Feed:
        self.requests.append(request)
        return feed_pb2.Feed(name=NAME, settings=request.settings, version=1)

    def GetFeed(self, request: Any, context: Any) -> feed_pb2.Feed:
        return feed_pb2.Feed(name=request.name)

    def ListFeeds(self, request: Any, context: Any) -> feed_service_pb2.ListFeedsResponse:
        self.requests.append(request)
        return feed_service_pb2.ListFeedsResponse(feeds=[feed_pb2.Feed(name=NAME)], next_page_token="t")

    def UpdateFeed(self, request: Any, context: Any) -> feed_pb2.Feed:
        self.requests.append(request)
        return feed_pb2.Feed(name=request.feed.name, version=2)

    def PauseFeed(self, request: Any, context: Any) -> feed_pb2.Feed:
        return feed_pb2.Feed(name=request.name, status=feed_pb2.FEED_STATUS_PAUSED)

    def ResumeFeed(self, request: Any, context: Any) -> feed_pb2.Feed:
        return feed_pb2.Feed(name=request.name, status=feed_pb2.FEED_STATUS_ACTIVE)

    def DeleteFeed(self, request: Any, context: Any) -> feed_pb2.Feed:
        self.requests.append(request)
        return feed_pb2.Feed(name=request.name, status=feed_pb2.FEED_STATUS_REMOVED)

    def RunFeed(self, request: Any, context: Any) -> feed_pb2.Fetch:
        self.requests.append(request)
        return RUNNING

    def GetFetch(self, request: Any, context: Any) -> feed_pb2.Fetch:
        self.requests.append(request)
        self.rounds -= 1
        if self.rounds == 1:
            context.abort(grpc.StatusCode.UNAVAILABLE, "restarting")
        if self.rounds > 0:
            return RUNNING
        return feed_pb2.Fetch(name=request.name, fetch_id=4, outcome=feed_pb2.FETCH_OUTCOME_SAME_CONTENT)

    def ListFetches(self, request: Any, context: Any) -> feed_source_service_pb2.ListFetchesResponse:
        self.requests.append(request)
        return feed_source_service_pb2.ListFetchesResponse(fetches=[RUNNING])

    def WatchTask(self, request: Any, context: Any) -> Iterator[task_pb2.Task]:
        yield task_pb2.Task(name=request.name, task_id=1)
        yield task_pb2.Task(name=request.name, task_id=2)
        context.abort(grpc.StatusCode.UNAVAILABLE, "restarting")

    def ExplainOffer(self, request: Any, context: Any) -> explanation_pb2.OfferExplanation:
        return explanation_pb2.OfferExplanation(name=request.name)

    def ListFormats(self, request: Any, context: Any) -> format_pb2.ListFormatsResponse:
        return format_pb2.ListFormatsResponse(formats=[format_pb2.Format(format="yml")])

    def GetFormatFile(self, request: Any, context: Any) -> format_pb2.FormatFile:
        self.requests.append(request)
        return format_pb2.FormatFile(file_name="yml.xml", content=b"<a/>")


@pytest.fixture
def feeds() -> Feeds:
    return Feeds()


@pytest.fixture
def callers() -> list[threading.Thread]:
    """Return the thread of each call."""
    return []


@pytest.fixture
def client(feeds: Feeds, callers: list[threading.Thread]) -> Iterator[Client]:
    def token() -> str:
        callers.append(threading.current_thread())
        return "t"

    server = grpc.server(ThreadPoolExecutor(4))
    add_FeedServiceServicer_to_server(feeds, server)  # type: ignore[arg-type]
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    with Client(Addresses(address, address, address), token) as made:
        yield made
    server.stop(None).wait()


def test_a_feed_is_made_changed_and_ended(client: Client, feeds: Feeds) -> None:
    settings = feed_pb2.FeedSettings(source=feed_pb2.FeedSource(url="https://shop.example/f.yml"))
    made = client.create_feed("shop", "default", settings, request_id="r")
    assert made.settings == settings
    assert (feeds.requests[0].parent, feeds.requests[0].namespace, feeds.requests[0].request_id) == (
        "sellers/shop",
        "default",
        "r",
    )
    settings.mode = load_pb2.LOAD_MODE_PATCH
    client.update_feed(NAME, settings, ["settings.mode"], version=1)
    changed = feeds.requests[1]
    assert (changed.feed.name, changed.feed.version, list(changed.update_mask.paths)) == (NAME, 1, ["settings.mode"])
    assert client.pause_feed(NAME).status == feed_pb2.FEED_STATUS_PAUSED
    assert client.resume_feed(NAME).status == feed_pb2.FEED_STATUS_ACTIVE
    assert client.get_feed(NAME).name == NAME
    assert client.list_feeds("sellers/shop", page_size=5, page_token="p").next_page_token == "t"
    assert (feeds.requests[2].page_size, feeds.requests[2].page_token) == (5, "p")
    assert client.delete_feed(NAME, disposition="MAKE_MANUAL").status == feed_pb2.FEED_STATUS_REMOVED
    assert feeds.requests[3].disposition == 2


def test_a_fetch_is_waited_for_and_outlives_a_restart(client: Client, feeds: Feeds) -> None:
    fetch = client.run_feed(NAME, force=True, request_id="r")
    assert (feeds.requests[0].force, feeds.requests[0].request_id) == (True, "r")
    seen: list[int] = []
    ended = client.wait_for_fetch(fetch, timeout_s=120, on_change=lambda each: seen.append(each.outcome))
    assert ended.outcome == feed_pb2.FETCH_OUTCOME_SAME_CONTENT
    assert seen == [feed_pb2.FETCH_OUTCOME_RUNNING] * 2
    assert client.wait_for_fetch(ended, timeout_s=0) == ended, "one that has ended is not asked for"
    assert client.list_fetches(NAME, page_size=3).fetches[0].fetch_id == 4
    assert feeds.requests[-1].page_size == 3


def test_wait_for_a_fetch_ends_with_words(client: Client) -> None:
    with pytest.raises(DeadlineExceeded, match="Check again: classifeed feed fetches --seller shop") as caught:
        client.wait_for_fetch(RUNNING, timeout_s=-1)
    assert (caught.value.reason, caught.value.metadata) == ("FETCH_NOT_ENDED", {"fetch": RUNNING.name})


@pytest.mark.parametrize("in_main_thread", [True, False])
def test_a_watched_task_is_reported_until_the_stream_breaks(client: Client, in_main_thread: bool) -> None:
    seen: list[int] = []

    def watch() -> None:
        for task in client.watch_task("t", timeout_s=90):
            seen.append(task.task_id)  # noqa: PERF401 - items before the error count

    with pytest.raises(Unreachable), ThreadPoolExecutor(1) as pool:
        watch() if in_main_thread else pool.submit(watch).result()
    assert seen == [1, 2]


def test_no_signal_can_meet_the_inside_of_a_call(client: Client, callers: list[threading.Thread]) -> None:
    client.get_feed(NAME)
    with pytest.raises(Unreachable):
        list(client.watch_task("t", timeout_s=90))
    with pytest.raises(Refused):
        client.get_upload("uploads/1")
    assert len(callers) == 3
    assert threading.main_thread() not in callers, "handlers of signals run there"


def test_formats_and_explanations(client: Client, feeds: Feeds) -> None:
    assert client.list_formats().formats[0].format == "yml"
    assert client.get_format_file("yml", "SCHEMA").content == b"<a/>"
    assert (feeds.requests[-1].name, feeds.requests[-1].kind) == ("formats/yml", format_pb2.FORMAT_FILE_KIND_SCHEMA)
    assert client.explain_offer(f"{NAME}/offers/a/b").name == f"{NAME}/offers/a/b"


def test_names_are_checked_before_a_call(client: Client, feeds: Feeds) -> None:
    with pytest.raises(Refused, match="The seller"):
        client.create_feed("no good", "default", feed_pb2.FeedSettings())
    with pytest.raises(Refused, match="The format"):
        client.get_format_file("../etc")
    assert feeds.requests == []
