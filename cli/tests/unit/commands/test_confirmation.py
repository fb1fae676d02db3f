"""Commands that are hard to undo ask for confirmation, only on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.feeds.v1 import feed_pb2, task_pb2, task_service_pb2
from classifeed.jobs.v1 import job_pb2, job_service_pb2
from classifeed.offers.v1 import offer_pb2
from classifeed.search.v1 import search_service_pb2

FEED = {
    "name": "sellers/shop/feeds/default", "seller_id": "shop", "namespace": "default", "version": 5,
    "status": "FEED_STATUS_ACTIVE",
}  # fmt: skip
NAME = "sellers/shop/feeds/default/tasks/7"
TASK = {"name": NAME, "seller_id": "shop", "namespace": "default", "task_id": 7, "kind": "TASK_KIND_LOAD"}
CANCEL = ("task", "cancel", "shop", "default", "7")


def task(**changes: Any) -> task_pb2.Task:
    return ParseDict({**TASK, **changes}, task_pb2.Task())


class Typist:
    """A terminal under the stdin and stderr of commands."""

    def __init__(self, terminal: Any) -> None:
        self._terminal = terminal
        self.master, slave = os.openpty()
        self._opened = os.fdopen(os.dup(slave)), os.fdopen(slave, "w")
        self.stdin: Any
        self.stderr: Any
        self.stdin, self.stderr = self._opened

    def run(self, *arguments: str) -> Any:
        """Run a command in this process, and show its stderr."""
        with patch.object(sys, "stdin", self.stdin), patch.object(sys, "stderr", self.stderr):
            return self._terminal(*arguments)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def shown(self) -> str:
        _, stderr = self._opened
        stderr.write("\0")
        stderr.flush()
        text = ""
        while not text.endswith("\0"):
            text += os.read(self.master, 65536).decode()
        return " ".join(text.rstrip("\0").split())

    def close(self) -> None:
        for stream in self._opened:
            stream.close()
        os.close(self.master)


@pytest.fixture
def typist(terminal: Any) -> Iterator[Typist]:
    made = Typist(terminal)
    yield made
    made.close()


@pytest.fixture
def canceling(api: Any) -> None:
    running = {"status": "TASK_STATUS_IN_PROGRESS", "run": 1, "expected_total": 33, "statistics": {"total": 12}}
    api.respond("GetTask", task(**running, file_name="prices.yml"))
    api.respond("CancelTask", task(status="TASK_STATUS_CANCELED"))


@pytest.mark.parametrize("typed", ["n\n", "\n", "yess\n", "\x04"], ids=["n", "enter", "slip", "end of input"])
def test_anything_but_yes_does_nothing(api: Any, typist: Typist, canceling: None, typed: str) -> None:
    typist.type(typed)
    assert typist.run(*CANCEL).exit_code == 1
    assert "CancelTask" not in api.requests
    shown = typist.shown()
    assert "Cancel load 7 of shop/default (prices.yml) after 12 of 33 offers?" in shown
    assert "What it has changed stays, and nothing is removed. [y/N]" in shown
    assert "classifeed: not confirmed, so nothing was done; --yes skips the confirmation" in shown


def test_ctrl_c_does_nothing(api: Any, typist: Typist, canceling: None) -> None:
    class Interrupted:
        def isatty(self) -> bool:
            return True

        def readline(self) -> str:
            raise KeyboardInterrupt

    typist.stdin = Interrupted()
    assert typist.run(*CANCEL).exit_code == 1
    assert "CancelTask" not in api.requests
    assert "nothing was done" in typist.shown()


@pytest.mark.parametrize("typed", ["y\n", "YES\n"])
def test_yes_does_it(api: Any, typist: Typist, canceling: None, typed: str) -> None:
    typist.type(typed)
    assert typist.run(*CANCEL).exit_code == 0
    assert len(api.requests["CancelTask"]) == 1


def test_yes_as_an_option_needs_no_confirmation(api: Any, typist: Typist, canceling: None) -> None:
    typist.type("n\n")
    assert typist.run(*CANCEL, "--yes").exit_code == 0
    assert "[y/N]" not in typist.shown()


@pytest.mark.parametrize("stream", ["stdin", "stderr"])
def test_without_a_terminal_nothing_is_confirmed(api: Any, typist: Typist, canceling: None, stream: str) -> None:
    typist.type("n\n")
    with Path(os.devnull).open("r+") as nowhere:
        setattr(typist, stream, nowhere)
        assert typist.run(*CANCEL).exit_code == 0
    assert len(api.requests["CancelTask"]) == 1


def test_the_document_is_alone_on_stdout(typist: Typist, canceling: None) -> None:
    typist.type("n\n")
    assert typist.run(*CANCEL, "--json").document["error"]["reason"] == "NOT_CONFIRMED"


@pytest.mark.parametrize(
    ("options", "becomes"),
    [
        ((), "Those from its files are removed."),
        (
            ("--disposition", "MAKE_MANUAL"),
            "Those from its files are kept by hand, and no file changes them any more.",
        ),
        (("--manual",), "All of them are removed, also those that are kept by hand."),
    ],
)
def test_removal_says_how_many_offers_it_is_about(
    api: Any, typist: Typist, refusal: Any, options: tuple[str, ...], becomes: str
) -> None:
    remove = ("feed", "remove", "--seller", "shop", *options)
    api.respond("GetFeed", ParseDict(FEED, feed_pb2.Feed()))
    api.respond("Search", search_service_pb2.SearchResponse(total=95_000))
    typist.type("n\n")
    assert typist.run(*remove).exit_code == 1
    shown = typist.shown()
    assert f"Remove shop/default? It has 95,000 offers in the search. {becomes} [y/N]" in shown
    [request] = api.requests["Search"]
    filters = {each.field: each.terms.values[0].string_value for each in request.filters}
    assert filters == {"seller": "shop", "namespace": "default"}
    api.respond("Search", refusal("UNAVAILABLE", "INDEX_REBUILDING", "not now"))
    typist.type("n\n")
    assert typist.run(*remove).exit_code == 1
    assert "It has offers; the search cannot count them now." in typist.shown()
    assert "DeleteFeed" not in api.requests


def test_what_was_removed_before_needs_no_confirmation(api: Any, typist: Typist) -> None:
    removed = ParseDict({**FEED, "status": "FEED_STATUS_REMOVED"}, feed_pb2.Feed())
    api.respond("GetFeed", removed)
    api.respond("DeleteFeed", removed)
    done = task(kind="TASK_KIND_DELETE", feed_version=5, status="TASK_STATUS_SUCCEEDED")
    api.respond("ListTasks", task_service_pb2.ListTasksResponse(tasks=[done]))
    api.respond("WatchTask", [done])
    typist.type("n\n")
    assert typist.run("feed", "remove", "--seller", "shop").exit_code == 0
    assert "[y/N]" not in typist.shown()


def test_offers_kept_by_hand_of_a_removed_namespace_need_confirmation(api: Any, typist: Typist) -> None:
    api.respond("GetFeed", ParseDict({**FEED, "status": "FEED_STATUS_REMOVED"}, feed_pb2.Feed()))
    api.respond("Search", search_service_pb2.SearchResponse(total=3))
    typist.type("n\n")
    assert typist.run("feed", "remove", "--seller", "shop", "--manual").exit_code == 1
    assert "DeleteFeed" not in api.requests


def test_an_offer_is_removed_after_confirmation(api: Any, typist: Typist) -> None:
    typist.type("n\n")
    assert typist.run("offer", "delete", "shop", "default", "7").exit_code == 1
    assert "Remove 7 of shop/default? It leaves the search. [y/N]" in typist.shown()
    assert "DeleteOffer" not in api.requests
    api.respond("DeleteOffer", offer_pb2.Offer(external_id="7"))
    typist.type("y\n")
    assert typist.run("offer", "delete", "shop", "default", "7", "--version", "12").exit_code == 0
    [request] = api.requests["DeleteOffer"]
    assert (request.name, request.version) == ("sellers/shop/feeds/default/offers/7", 12)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "Its offers get the state of that file, and those missing from it are removed."),
        ({"disposition": 2}, "Its offers get the state of that file, and those missing from it are kept by hand."),
        ({"mode": 2}, "It changes the offers that it names."),
    ],
)
def test_rerun_says_what_it_does(api: Any, typist: Typist, changes: dict[str, Any], expected: str) -> None:
    api.respond("GetTask", task(**changes, file_name="prices.yml", create_time="2026-11-21T19:50:03Z"))
    typist.type("n\n")
    assert typist.run("task", "rerun", "shop", "default", "7").exit_code == 1
    assert f"(prices.yml, of 2026-11-21 22:50:03) into shop/default again? {expected} [y/N]" in typist.shown()
    assert "RerunTask" not in api.requests


def test_whole_queues_are_confirmed_and_one_job_is_not(api: Any, typist: Typist) -> None:
    api.respond("ListQueues", job_service_pb2.ListQueuesResponse(queues=[job_pb2.Queue(queue="feed.fetch")]))
    typist.type("n\n")
    assert typist.run("jobs", "pause", "feed.fetch", "--service", "loader").exit_code == 1
    typist.type("n\n")
    assert typist.run("jobs", "retry", "--queue", "feed.fetch", "--task", "t", "--since", "1h").exit_code == 1
    shown = typist.shown()
    assert "Pause feed.fetch of loader? No job of it starts until `classifeed jobs resume feed.fetch`. [y/N]" in shown
    assert "Retry all failed jobs of the task t of the queue feed.fetch that failed within 1h? [y/N]" in shown
    assert not api.requests.keys() & {"PauseQueue", "RetryJobs"}
    api.respond("GetJob", job_pb2.Job(job_id="01a2008f-239e-7fba-aedf-7ec77d0f0aea"))
    api.respond("RetryJob", job_pb2.Job(status=job_pb2.JOB_STATUS_QUEUED))
    assert typist.run("jobs", "retry", "01a2008f-239e-7fba-aedf-7ec77d0f0aea").exit_code == 0
