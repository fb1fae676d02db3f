"""Parts of the demo: price lists, site, variables, and steps against fake services."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.documents.v1 import document_pb2
from classifeed.feeds.v1 import explanation_pb2, feed_pb2, feed_service_pb2, task_pb2, task_service_pb2
from classifeed.offers.v1 import offer_pb2, offer_service_pb2
from classifeed.search.v1 import search_service_pb2
from classifeed_cli.commands.demo import kill, play, refused_text, steps
from classifeed_cli.commands.demo.pictures import serve_pictures
from classifeed_cli.commands.demo.price_lists import (
    ENGLISH,
    RUSSIAN,
    ids_of_big_list,
    read_sample,
    write_big_list,
    write_mended,
    write_sample,
)
from classifeed_cli.commands.demo.site import serve_files, serve_price_list
from classifeed_cli.commands.demo.steps import STEPS
from classifeed_cli.commands.demo.story import Story
from classifeed_cli.commands.demo.suite import environment
from classifeed_cli.exit_codes import CommandError, refused
from classifeed_cli.platform.installation import Installation
from classifeed_cli.platform.planning.layout import Layout, write_json
from classifeed_cli.terminal.interruption import Interruption
from classifeed_cli.terminal.output import Output
from classifeed_client import Addresses, Client
from classifeed_common.processes import ProcessIdentity

TASK = {"task_id": 1, "seller_id": "home-and-garden", "namespace": "default", "status": "TASK_STATUS_SUCCEEDED"}
BIG = 50
LOADED = ParseDict({**TASK, "statistics": {"total": BIG, "added": BIG}}, task_pb2.Task())


def loading(total: int) -> task_pb2.Task:
    """Return the big load, so many offers of which have results."""
    under_way = {"status": "TASK_STATUS_IN_PROGRESS", "phase": "TASK_PHASE_PARSING", "expected_total": BIG}
    return ParseDict({**TASK, **under_way, "statistics": {"total": total, "added": total}}, task_pb2.Task())


def test_big_list_is_well_formed_and_always_the_same(tmp_path: Path) -> None:
    first = write_big_list(tmp_path / "a.yml", 500)
    offers = ET.parse(first).getroot().findall("shop/offers/offer")
    assert ids_of_big_list(first) == {offer.get("id") for offer in offers}
    assert len(ids_of_big_list(first)) == 500
    assert all(offer.findtext("name") and float(offer.findtext("price", "")) > 0 for offer in offers)
    assert write_big_list(tmp_path / "b.yml", 500).read_bytes() == first.read_bytes()


def test_the_shop_corrects_three_faults_and_one_price_and_sells_one_item_less(tmp_path: Path) -> None:
    def items(path: Path) -> list[tuple[str, ...]]:
        return [tuple(part.text or "" for part in item) for item in ET.parse(path).getroot().iter("item")]

    before = items(write_sample(tmp_path / ENGLISH, "http://site"))
    after = items(write_mended(tmp_path / "mended.xml", "http://site"))
    assert (len(before), len(after)) == (24, 23)
    assert len({item[0] for item in before}) == 23
    assert len({item[0] for item in after}) == 23
    assert len(set(after) - set(before)) == 4
    assert all(all(item) for item in after), "every item has a title"


def ask(link: str, **headers: str) -> tuple[int, bytes, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(link, headers=headers), timeout=60) as response:
            return response.status, response.read(), response.headers["ETag"]
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), error.headers["ETag"]


def test_site_knows_who_has_the_newest_state() -> None:
    with serve_price_list(b"<a/>") as link:
        status, content, etag = ask(link)
        assert (status, content) == (200, b"<a/>")
        assert ask(link, **{"If-None-Match": etag}) == (304, b"", etag)
        assert ask(link, **{"If-None-Match": '"older"'})[0] == 200
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(link, timeout=60)


def test_each_picture_of_the_samples_is_served_but_for_one() -> None:
    with serve_pictures() as base:
        found = {name: re.findall(rf"{base}/[a-z]-\d+\.jpg", read_sample(name, base)) for name in (ENGLISH, RUSSIAN)}
        statuses = {link: status_of(link) for links in found.values() for link in links}
    assert [link.rpartition("/")[2] for link, status in statuses.items() if status == 404] == ["t-306.jpg"]
    assert (len(found[ENGLISH]), len(found[RUSSIAN])) == (24, 28)
    assert all("shop.example/" not in link for link in statuses)


def status_of(link: str) -> int:
    """Return the status of a link whose file is a JPEG; its bytes are looked at."""
    status, content, _ = ask(link)
    assert status != 200 or content.startswith(b"\xff\xd8\xff")
    return status


def test_variables_are_for_the_suite_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLASSIFEED_A", "mine")
    monkeypatch.delenv("CLASSIFEED_B", raising=False)
    with environment({"CLASSIFEED_A": "1", "CLASSIFEED_B": "2"}):
        assert (os.environ["CLASSIFEED_A"], os.environ["CLASSIFEED_B"]) == ("1", "2")
    assert os.environ["CLASSIFEED_A"] == "mine"
    assert "CLASSIFEED_B" not in os.environ


@pytest.fixture
def story(api: Any, terminal: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Story]:
    async def settled(*_: Any) -> dict[str, Any]:
        return {}

    monkeypatch.setattr(steps, "wait_settled", settled)
    for module in (kill, refused_text):
        monkeypatch.setattr(module, "wait_settled", settled)
    monkeypatch.setattr(kill, "BIG_COUNT", BIG)
    layout = Layout(tmp_path / "data")
    layout.prepare()
    with Client(Addresses(api.address, api.address, api.address), lambda: "t") as client:
        yield Story(client, Output(as_json=False), Installation({}, {}), layout, tmp_path)


@pytest.fixture
def process(story: Story) -> Iterator[subprocess.Popen[bytes]]:
    """Yield the process of offers; when it dies, the document of the supervisor has another one in its place."""
    running = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    supervise(story.layout, running.pid)

    def replace() -> None:
        running.wait()
        supervise(story.layout, os.getppid())

    watching = threading.Thread(target=replace)
    watching.start()
    try:
        yield running
    finally:
        running.kill()
        watching.join()


def supervise(layout: Layout, pid: int) -> None:
    """Write the run document of a supervisor, which is this process, with the service offers."""
    me, offers = ProcessIdentity.of(os.getpid()), ProcessIdentity.of(pid)
    assert me is not None
    assert offers is not None
    services = {"offers": {"pid": offers.pid, "started": offers.started}}
    write_json(layout.supervisor, {"pid": me.pid, "started": me.started, "services": services})


class Loader:
    """Fetches a URL as the loader does."""

    def __init__(self) -> None:
        self.link = self.etag = ""
        self.count = 0

    def create(self, request: Any) -> feed_pb2.Feed:
        self.link = request.settings.source.url
        return feed_pb2.Feed(seller_id="home-and-garden", namespace=request.namespace, settings=request.settings)

    def fetch(self, _: Any = None) -> feed_pb2.Fetch:
        status, content, self.etag = ask(self.link, **({"If-None-Match": self.etag} if self.etag else {}))
        self.count += 1
        outcome = "FETCH_OUTCOME_LOADED" if status == 200 else "FETCH_OUTCOME_NOT_MODIFIED"
        task = "sellers/home-and-garden/feeds/by-link/tasks/1" if status == 200 else ""
        return feed_pb2.Fetch(
            fetch_id=self.count, outcome=outcome, http_status=status, bytes=len(content), task=task, namespace="by-link"
        )

    def look(self, request: Any) -> feed_pb2.Feed:
        return feed_pb2.Feed(name=request.name, state=feed_pb2.FeedSourceState(last_fetch=self.fetch()))


THUMBNAIL = "/get/offers/1/n1/card"
PICTURED = {
    "external_id": "B-101", "status": "OFFER_STATUS_ACTIVE", "last_task_id": 1,
    "content": {"title": "Bench", "picture_urls": ["http://127.0.0.1:1/b-101.jpg"]},
    "pictures": [{"url": "http://127.0.0.1:1/b-101.jpg", "state": "OFFER_PICTURE_STATE_STORED",
                  "info": {"namespace": "offers", "group_id": 1, "name": "n1", "width": 640, "height": 480}}],
}  # fmt: skip


@pytest.fixture
def store() -> Iterator[str]:
    """Where the pictures of the suite open."""
    with serve_files({THUMBNAIL: b"jpeg"}) as base:
        yield base


@pytest.fixture
def played(api: Any, store: str) -> Loader:
    """All responses of a successful demo."""
    rows = [
        {"external_id": "T-301", "ordinal": 23, "line": 250, "kind": "ISSUE_KIND_DUPLICATE", "title": "Twice"},
        {"external_id": "S-203", "ordinal": 10, "line": 114, "kind": "ISSUE_KIND_VALIDATION", "title": "No number",
         "value": "4 – 5 EUR", "excerpt": "<g:price>4 – 5 EUR</g:price>"},
    ]  # fmt: skip
    loader = Loader()

    def search(request: search_service_pb2.SearchRequest) -> search_service_pb2.SearchResponse:
        if "namespace:warehouse" in request.conditions:
            return search_service_pb2.SearchResponse(total=BIG)
        found = search_service_pb2.SearchResponse(total=1)
        external_id = "B-110" if request.query == "beech benches" else "B-101"
        found.hits.add().fields.add(name="external_id", values=[document_pb2.Value(string_value=external_id)])
        found.hits[0].fields.add(name="price", values=[document_pb2.Value(double_value=1)])
        found.hits[0].fields.add(
            name="picture", values=[document_pb2.Value(string_value=f"{store}/get/offers/1/n1/large")]
        )
        return found

    api.respond("UploadFeed", feed_service_pb2.Upload(task="sellers/home-and-garden/feeds/default/tasks/1"))
    api.respond("WatchTask", [LOADED])
    api.respond("GetTask", loading(0), loading(BIG // 5), loading(BIG // 2))
    api.respond("ListOfferErrors", ParseDict({"errors": rows}, task_service_pb2.ListOfferErrorsResponse()))
    api.respond("Search", search)
    api.respond("ListOffers", some(BIG))
    api.respond("ExplainOffer", lambda request: explanation_pb2.OfferExplanation(name=request.name))
    api.respond(
        "GetOffer",
        ParseDict(PICTURED, offer_pb2.Offer()),
        offer_pb2.Offer(status="OFFER_STATUS_BANNED"),
        offer_pb2.Offer(status="OFFER_STATUS_ACTIVE"),
    )
    api.respond("CreateFeed", loader.create)
    api.respond("GetFeed", loader.look)
    api.respond("RunFeed", loader.fetch)
    api.respond("PauseFeed", feed_pb2.Feed())
    return loader


def test_steps_play_after_each_other(
    api: Any, story: Story, played: Loader, process: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    document = play(story)
    assert set(document) == {
        "first", "errors", "hits", "found", "rejected", "picture", "failed_picture", "second", "refused", "corrected",
        "fetches", "big", "kill", "counts",
    }  # fmt: skip
    assert [fetch["outcome"] for fetch in document["fetches"]] == ["LOADED", "NOT_MODIFIED"]
    assert document["found"]["name"].endswith("/offers/B-101")
    assert document["rejected"]["name"].endswith("/offers/S-203"), "not the duplicate, whose first one is found"
    assert document["picture"]["thumbnail"].endswith(THUMBNAIL)
    shown = capsys.readouterr().out
    assert f"{THUMBNAIL}\n  application/xml, 4 bytes\n" in shown
    assert "    │ <g:price>4 – 5 EUR</g:price>\n    │          ^^^^^^^^^\n" in shown
    assert [parts[0].spec.namespace for parts in api.requests["UploadFeed"]] == [
        *["default"] * 4, "warehouse"
    ]  # fmt: skip
    assert played.count == 2
    for number, step in enumerate(STEPS, start=1):
        assert f"\n{number}. {step.title}\n   {step.services}\n" in shown
        assert len(step.services) + 3 <= 80, "one line of a terminal"

    assert process.returncode == -signal.SIGKILL
    assert document["kill"] == {
        "service": "offers", "pid": process.pid, "pid_after": os.getppid(), "answered_before": BIG // 2
    }  # fmt: skip
    assert f"> kill -9 {process.pid}\n" in shown
    assert document["counts"] == {"file": BIG, "load": BIG, "offers": BIG, "search": BIG}


def some(count: int, first: int = 1) -> offer_service_pb2.ListOffersResponse:
    """So many offers of the big list, from a number on."""
    offers = [offer_pb2.Offer(external_id=f"W-{number:05}") for number in range(first, first + count)]
    return offer_service_pb2.ListOffersResponse(offers=offers)


@pytest.mark.parametrize(
    ("method", "response"),
    [
        ("ListOffers", some(BIG - 1)),
        ("ListOffers", some(BIG, first=2)),
        ("Search", search_service_pb2.SearchResponse(total=BIG + 1)),
        ("WatchTask", [ParseDict({**TASK, "statistics": {"total": BIG, "added": BIG - 1}}, task_pb2.Task())]),
    ],
    ids=("one is lost", "another id", "one is found twice", "one is not counted"),
)
@pytest.mark.usefixtures("played", "process")
def test_counts_that_differ_fail_the_demo(api: Any, story: Story, method: str, response: Any) -> None:
    api.respond(method, response)
    with pytest.raises(CommandError, match="counts differ") as caught:
        kill.kill_amid_load(story)
    assert (caught.value.reason, caught.value.exit_code) == ("DEMO_FAILED", 1)


@pytest.mark.parametrize(
    ("method", "response", "step"),
    [
        ("WatchTask", [ParseDict({**TASK, "status": "TASK_STATUS_FAILED"}, task_pb2.Task())], 0),
        ("Search", search_service_pb2.SearchResponse(), 1),
        ("GetOffer", offer_pb2.Offer(external_id="B-101"), 3),
        ("Search", search_service_pb2.SearchResponse(), 3),
        ("ListOfferErrors", task_service_pb2.ListOfferErrorsResponse(), 3),
        ("GetOffer", offer_pb2.Offer(status="OFFER_STATUS_ACTIVE"), 5),
        ("Search", search_service_pb2.SearchResponse(), 5),
        ("RunFeed", feed_pb2.Fetch(outcome="FETCH_OUTCOME_FAILED"), 6),
        ("GetTask", LOADED, 7),
    ],
)
@pytest.mark.usefixtures("played", "process")
def test_what_goes_wrong_ends_the_demo(api: Any, story: Story, method: str, response: Any, step: int) -> None:
    api.respond(method, response)
    story.found_id = "B-101"
    with pytest.raises(CommandError) as caught:
        STEPS[step].play(story)
    assert (caught.value.reason, caught.value.exit_code) == ("DEMO_FAILED", 1)


def test_of_two_interruptions_the_outer_one_speaks() -> None:
    with (
        pytest.raises(CommandError, match="interrupted: the demo ends") as caught,
        Interruption("the demo ends"),
        Interruption("the load goes on"),
    ):
        raise KeyboardInterrupt
    assert caught.value.exit_code == 130
    with pytest.raises(CommandError, match="other"), Interruption("the demo ends"):
        raise refused("OTHER", "other")
