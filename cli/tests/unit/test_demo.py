"""The demo's pieces: its price lists, its site, its variables, and its steps against services that answer."""

from __future__ import annotations

import os
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
from classifeed.search.v1 import search_service_pb2
from classifeed_cli.commands.demo import steps
from classifeed_cli.commands.demo.price_lists import sample_file, sample_titles, write_big_list
from classifeed_cli.commands.demo.site import serve_price_list
from classifeed_cli.commands.demo.steps import STEPS, Story
from classifeed_cli.commands.demo.suite import environment
from classifeed_cli.exit_codes import CommandError, refused
from classifeed_cli.interruption import Interruption
from classifeed_cli.output import Output
from classifeed_cli.platform.installation import Installation
from classifeed_client import Addresses, Client

TASK = {"task_id": 1, "seller_id": "home-and-garden", "namespace": "default", "status": "TASK_STATUS_SUCCEEDED"}


def test_big_list_is_well_formed_and_always_the_same(tmp_path: Path) -> None:
    first = write_big_list(tmp_path / "a.yml", 500)
    offers = ET.parse(first).getroot().findall("shop/offers/offer")
    assert len({offer.get("id") for offer in offers}) == 500
    assert all(offer.findtext("name") and float(offer.findtext("price", "")) > 0 for offer in offers)
    assert write_big_list(tmp_path / "b.yml", 500).read_bytes() == first.read_bytes()


def test_titles_of_the_sample_stand_at_their_offers() -> None:
    with sample_file() as sample:
        offers = ET.parse(sample).getroot().findall("shop/offers/offer")
    assert sample_titles() == {number: offer.findtext("name") for number, offer in enumerate(offers, start=1)}


def ask(link: str, **headers: str) -> tuple[int, bytes, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(link, headers=headers), timeout=60) as answer:
            return answer.status, answer.read(), answer.headers["ETag"]
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
    monkeypatch.setattr(steps, "_BIG_COUNT", 50)
    with Client(Addresses(api.address, api.address, api.address), lambda: "t") as client:
        yield Story(client, Output(as_json=False), Installation({}, {}), tmp_path)


class Loader:
    """Fetches a link as the loader would."""

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


@pytest.fixture
def played(api: Any) -> Loader:
    """All answers of a demo that goes well."""
    rows = [
        {"external_id": "S-006", "ordinal": 31, "line": 317, "kind": "ISSUE_KIND_DUPLICATE", "title": "Twice"},
        {"external_id": "S-016", "ordinal": 16, "line": 171, "kind": "ISSUE_KIND_VALIDATION", "title": "No number"},
    ]
    found = search_service_pb2.SearchResponse(total=1)
    found.hits.add().fields.add(name="external_id", values=[document_pb2.Value(string_value="G-101")])
    found.hits[0].fields.add(name="price", values=[document_pb2.Value(double_value=1)])
    loader = Loader()
    api.answer("UploadFeed", feed_service_pb2.Upload(task="sellers/home-and-garden/feeds/default/tasks/1"))
    api.answer("WatchTask", [ParseDict(TASK, task_pb2.Task())])
    api.answer("ListOfferErrors", ParseDict({"errors": rows}, task_service_pb2.ListOfferErrorsResponse()))
    api.answer("Search", found)
    api.answer("ExplainOffer", lambda request: explanation_pb2.OfferExplanation(name=request.name))
    api.answer("CreateFeed", loader.create)
    api.answer("GetFeed", loader.look)
    api.answer("RunFeed", loader.fetch)
    api.answer("PauseFeed", feed_pb2.Feed())
    return loader


def test_steps_play_after_each_other(
    api: Any, story: Story, played: Loader, capsys: pytest.CaptureFixture[str]
) -> None:
    document: dict[str, Any] = {}
    for step in STEPS:
        document |= step.play(story)
    assert set(document) == {"first", "errors", "hits", "found", "rejected", "second", "big", "fetches"}
    assert [fetch["outcome"] for fetch in document["fetches"]] == ["LOADED", "NOT_MODIFIED"]
    assert document["found"]["name"].endswith("/offers/G-101")
    assert document["rejected"]["name"].endswith("/offers/S-016"), "not the duplicate, whose first one is found"
    said = capsys.readouterr().out
    assert "S-016 “Диван-кровать «Тверь»”, line 171: No number" in said
    assert [parts[0].spec.namespace for parts in api.asked["UploadFeed"]] == ["default", "default", "warehouse"]
    assert played.count == 2


@pytest.mark.parametrize(
    ("method", "answer", "step"),
    [
        ("WatchTask", [ParseDict({**TASK, "status": "TASK_STATUS_FAILED"}, task_pb2.Task())], 0),
        ("Search", search_service_pb2.SearchResponse(), 2),
        ("RunFeed", feed_pb2.Fetch(outcome="FETCH_OUTCOME_FAILED"), 6),
    ],
)
def test_what_goes_wrong_ends_the_demo(
    api: Any, story: Story, played: Loader, method: str, answer: Any, step: int
) -> None:
    api.answer(method, answer)
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
