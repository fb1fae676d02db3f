"""Feeds by link through the whole suite: when files are fetched, which make a task, how failures are reported."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from bench.kit.generated_feed import offer_ids, write_feed

from tests.e2e.site import Site, serve_site
from tests.e2e.suite import Suite
from tests.e2e.test_loads import counts_of
from tests.e2e.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
_OFFERS = 50
_EVERY_S = 2


@pytest.fixture
def site() -> Iterator[Site]:
    with serve_site() as running:
        yield running


@pytest.fixture
def content(tmp_path: Path, seller: str) -> bytes:
    return write_feed(tmp_path / "feed.yml", _OFFERS, prefix=seller).read_bytes()


class Feed:
    """A feed, used through the command line."""

    def __init__(self, suite: Suite, seller: str) -> None:
        self._suite = suite
        self._seller = seller

    def do(self, verb: str, *options: str, code: int | None = 0) -> dict[str, Any]:
        """Run a command on the feed."""
        result = self._suite.run("feed", verb, "--seller", self._seller, *options)
        assert code is None or result.exit_code == code, (result.document, result.stderr)
        return result.document

    def add(self, link: str, *options: str, every_s: int = _EVERY_S) -> None:
        """Create the feed."""
        add = ("feed", "add", link, "--no-wait", "--seller", self._seller, "--every", f"{every_s}s")
        result = self._suite.run(*add, *options)
        assert result.exit_code == 0, (result.document, result.stderr)

    def fetches(self) -> list[dict[str, Any]]:
        """Return the finished fetches, the oldest first."""
        history = self.do("fetches", "--limit", "1000")["fetches"]
        ended = [fetch for fetch in history if fetch["outcome"] not in {"QUEUED", "RUNNING"}]
        return sorted(ended, key=lambda fetch: int(fetch["fetch_id"]))

    def await_fetches(self, count: int) -> list[dict[str, Any]]:
        """Wait until `count` fetches have ended, and return them."""

        def ended() -> list[dict[str, Any]]:
            found = self.fetches()
            return found if len(found) >= count else []

        return wait_until(ended, 300, f"{count} fetches have ended", 0.5)

    def pause(self) -> int:
        """Pause the feed, wait until no fetch is in progress or scheduled, and return the number of finished ones."""
        assert self.do("pause")["status"] == "PAUSED"
        wait_until(lambda: not self.do("show")["state"].get("next_fetch_time"), 60, "the loader to know of the pause")

        def ended() -> int:
            history = self.do("fetches", "--limit", "1000")["fetches"]
            return 0 if any(fetch["outcome"] in {"QUEUED", "RUNNING"} for fetch in history) else len(history)

        return wait_until(ended, 300, "no fetch is in progress", 0.5)

    def tasks(self) -> list[dict[str, Any]]:
        """Return the tasks of the namespace, the newest first."""
        return list(self._suite.run("task", "list", self._seller, "default").document["tasks"])

    def await_task(self, count: int) -> dict[str, Any]:
        """Wait until the namespace has `count` tasks and all have ended; return the newest."""

        tasks: list[dict[str, Any]] = []

        def ended() -> bool:
            tasks[:] = self.tasks()
            return len(tasks) >= count and all(task["status"] != "IN_PROGRESS" for task in tasks)

        try:
            wait_until(ended, 300, f"{count} tasks have ended", 0.5)
        except AssertionError as late:
            late.add_note(f"tasks: {tasks}; fetches: {self.fetches()}")
            raise
        assert len(tasks) == count, (tasks, self.fetches())
        return tasks[0]


@pytest.fixture
def feed(suite: Suite, seller: str) -> Iterator[Feed]:
    made = Feed(suite, seller)
    yield made
    made.do("pause", code=None)


def test_etag_spares_the_download_and_the_task(
    suite: Suite, site: Site, feed: Feed, seller: str, content: bytes
) -> None:
    feed.add(site.put("/etag.yml", content))
    first, second = feed.await_fetches(2)[:2]
    assert (first["outcome"], first["http_status"]) == ("LOADED", 200)
    assert (second["outcome"], second["http_status"]) == ("NOT_MODIFIED", 304)
    assert second["task"] == first["task"], "it names the load that had the file"
    task = feed.await_task(1)
    assert counts_of(task) == {"added": _OFFERS}
    assert set(suite.offers(seller)) == set(offer_ids(_OFFERS, prefix=seller))


def test_same_bytes_make_no_task_until_a_setting_changes(site: Site, feed: Feed, content: bytes) -> None:
    feed.add(site.put("/plain.yml", content, etag=False))
    first, second = feed.await_fetches(2)[:2]
    assert (first["outcome"], second["outcome"]) == ("LOADED", "SAME_CONTENT")
    feed.await_task(1)
    feed.do("set", "--disposition", "MAKE_MANUAL")
    task = feed.await_task(2)
    assert (counts_of(task), task["disposition"]) == ({"unchanged": _OFFERS}, "MAKE_MANUAL")
    assert int(task["feed_version"]) > int(feed.tasks()[-1]["feed_version"])


def test_changed_file_is_loaded_as_the_whole_namespace(
    suite: Suite, site: Site, feed: Feed, seller: str, content: bytes, tmp_path: Path
) -> None:
    link = site.put("/changing.yml", content)
    feed.add(link)
    feed.await_task(1)
    gone = frozenset(list(offer_ids(_OFFERS, prefix=seller))[:5])
    site.put(
        "/changing.yml", write_feed(tmp_path / "next.yml", _OFFERS, prefix=seller, revision=9, skip=gone).read_bytes()
    )
    assert counts_of(feed.await_task(2)) == {"updated": _OFFERS - 5, "removed": 5}
    assert set(suite.offers(seller)) == set(offer_ids(_OFFERS, prefix=seller)) - gone


@pytest.mark.parametrize(
    ("fault", "code", "word"),
    [
        (("status", 404, {}), "HTTP_NOT_FOUND", "404"),
        (("status", 500, {"Retry-After": "30"}), "HTTP_SERVER_ERROR", "500"),
        (("loop",), "REDIRECT_LOOP", "redirect"),
        (("cut",), "TRUNCATED", "closed the connection"),
        (("silent",), "TOTAL_TIMEOUT", "10 s"),
        (("endless",), "TOO_LARGE", "has more than"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_failure_has_a_message_and_the_next_fetch_is_later(
    site: Site, feed: Feed, content: bytes, fault: tuple[Any, ...], code: str, word: str
) -> None:
    site.put("/broken.yml", content)
    feed.add(site.fail("/broken.yml", *fault))
    failed = feed.await_fetches(1)[0]
    assert (failed["outcome"], failed["code"]) == ("FAILED", code), failed
    assert word in failed["message"].lower(), failed["message"]
    state = feed.do("show")["state"]
    assert int(state["failures"]) >= 1
    wait_s = (
        datetime.fromisoformat(state["next_fetch_time"]) - datetime.fromisoformat(failed["end_time"])
    ).total_seconds()
    assert wait_s > _EVERY_S, "backed off"
    if fault[0] == "status" and fault[2]:
        assert wait_s >= 29, "the site requested 30 s"
    assert feed.tasks() == []


def test_site_that_is_down_comes_back(site: Site, feed: Feed, content: bytes) -> None:
    with serve_site() as other:
        link = other.put("/gone.yml", content)
    feed.add(link)
    failed = feed.await_fetches(1)[0]
    assert (failed["outcome"], failed["code"]) == ("FAILED", "CONNECT_REFUSED"), failed
    feed.do("set", "--url", site.put("/gone.yml", content))
    assert feed.await_task(1)["status"] == "SUCCEEDED"
    assert int(feed.do("show")["state"]["failures"]) == 0


def test_pause_resume_and_run_now(site: Site, feed: Feed, content: bytes) -> None:
    link = site.put("/paused.yml", content)
    feed.add(link)
    feed.await_task(1)
    before = feed.pause()
    run = feed.do("run", "--force")
    assert run["fetch"]["outcome"] == "LOADED"
    assert counts_of(run["task"]) == {"unchanged": _OFFERS}
    assert len(feed.fetches()) == before + 1, "only the requested fetch"
    assert feed.do("resume")["status"] == "ACTIVE"
    feed.await_fetches(before + 2)


@pytest.mark.parametrize(("disposition", "left"), [("DELETE", 0), ("MAKE_MANUAL", _OFFERS)])
def test_remove_takes_the_offers_or_leaves_them_by_hand(
    suite: Suite, site: Site, feed: Feed, seller: str, content: bytes, disposition: str, left: int
) -> None:
    # A fetch in progress may still make a task, which is superseded. Here no fetch is in progress.
    feed.add(site.put("/removed.yml", content), every_s=3600)
    feed.await_task(1)
    feed.do("remove", "--disposition", disposition)
    ended = feed.await_task(2)
    assert (ended["kind"], ended["status"]) == ("DELETE", "SUCCEEDED")
    offers = suite.offers(seller)
    assert len(offers) == left
    assert all(offer["origin"] == "MANUAL" for offer in offers.values())
    before = site.requests["/removed.yml"]
    suite.settle()
    assert feed.do("show")["status"] == "REMOVED"
    assert suite.run("feed", "list", "--seller", seller).document["feeds"] == []
    feed.add(site.put("/removed.yml", content), every_s=3600)
    assert feed.await_task(3)["status"] == "SUCCEEDED"
    assert len(suite.offers(seller)) == _OFFERS
    assert all(offer["origin"] == "FEED" for offer in suite.offers(seller).values())
    assert site.requests["/removed.yml"] > before


def test_upload_beside_a_feed_by_link_is_refused_unless_forced(
    suite: Suite, site: Site, feed: Feed, seller: str, content: bytes, tmp_path: Path
) -> None:
    feed.add(site.put("/beside.yml", content))
    feed.await_task(1)
    feed.pause()
    file = write_feed(tmp_path / "upload.yml", 3, prefix=seller)
    refused = suite.upload(file, seller)
    assert (refused.exit_code, refused.document["error"]["reason"]) == (1, "NAMESPACE_HAS_FEED")
    assert len(suite.offers(seller)) == _OFFERS
    assert suite.upload(file, seller, "--force", "--allow-removals").document["status"] == "SUCCEEDED"
    assert len(suite.offers(seller)) == 3
    # The file of the link is unchanged, but the namespace has the offers of another file.
    feed.do("resume")
    assert counts_of(feed.await_task(3))["added"] == _OFFERS - 3


def test_page_that_is_no_feed_is_shown_with_its_fetch_and_with_its_feed(
    suite: Suite, site: Site, feed: Feed, seller: str
) -> None:
    link = site.put("/shop.html", b"<!DOCTYPE html><html><head><title>Shop</title></head><body>Hello</body></html>")
    added = suite.run("feed", "add", link, "--seller", seller, "--every", "1d", "--timeout", "300")
    assert added.exit_code == 1, "it waits for the first load, and ends as that does"
    assert (added.document["fetch"]["outcome"], added.document["task"]["status"]) == ("LOADED", "FAILED")
    code = added.document["task"]["error_code"]
    [listed] = suite.run("feed", "list", "--seller", seller).document["feeds"]
    for told in (feed.fetches()[0], listed["state"]["last_fetch"], feed.do("show")["state"]["last_fetch"]):
        assert (told["load"]["status"], told["load"]["error_code"]) == ("FAILED", code)
    task = added.document["task"]

    def is_logged() -> bool:
        logs = suite.run("logs", "--task", f"{seller}/default/{task['task_id']}").document["lines"]
        return any(line["service"] == "processor" and line.get("code") == code for line in logs)

    suite.wait(is_logged, 60, "the processor has a line with the code")
    again = suite.run("feed", "run", "--seller", seller)
    assert (again.exit_code, again.document["fetch"]["load"]["status"]) == (1, "FAILED"), "it is still no feed"


def test_link_into_the_installation_is_refused(suite: Suite, seller: str) -> None:
    for link, reason in (
        ("http://169.254.169.254/latest/meta-data/", "ADDRESS"),
        ("http://user:secret@shop.example/feed.yml", "URL"),
        ("file:///etc/passwd", "URL"),
    ):
        result = suite.run("feed", "add", link, "--seller", seller)
        assert result.exit_code in {1, 2}, result.document
        assert reason in result.document["error"]["reason"] or "url" in str(result.document).lower()
