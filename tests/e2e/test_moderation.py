"""Texts of offers and points through moderation and its verdict service, as sellers, buyers and operators see them."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

from classifeed.search.v1 import search_service_pb2
from classifeed_cli.platform.installation import Installation
from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns
from tests.e2e.suite import Suite
from tests.e2e.test_loads import counts_of

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]

FORBIDDEN = "Write to me on WhatsApp +7 900 123-45-67"
MANY = 3_000 if IS_LONG else 600
REPEATED = 50_000 if IS_LONG else 1_000
_SOON_S = 120.0  # for slow machines

Row = tuple[str, str, str, int]
"""Id, title, description, price."""


def write_rows(path: Path, rows: Iterable[Row]) -> Path:
    """Write a YML file."""
    with path.open("w", encoding="utf-8") as sink:
        sink.write('<yml_catalog date="2026-11-01 10:00"><shop><name>S</name><company>S</company>')
        sink.write('<url>https://shop.example</url><currencies><currency id="RUB" rate="1"/></currencies>')
        sink.write('<categories><category id="1">Home</category></categories><offers>\n')
        for external_id, title, description, price in rows:
            sink.write(
                f'<offer id="{external_id}"><url>https://shop.example/{external_id}</url><price>{price}</price>'
                f"<currencyId>RUB</currencyId><categoryId>1</categoryId><name>{escape(title)}</name>"
                f"<description>{escape(description)}</description></offer>\n"
            )
        sink.write("</offers></shop></yml_catalog>\n")
    return path


@contextmanager
def stopped(suite: Suite, service: str) -> Iterator[None]:
    """Stop the processes of a service for the block, as if it hung."""
    pids = list(suite.status()["services"][service]["pids"].values())
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def task_of(suite: Suite, seller: str, task: dict[str, Any]) -> dict[str, Any]:
    return suite.run("task", "show", seller, "default", task["task_id"]).document


def titles_found(suite: Suite, seller: str) -> dict[str, tuple[str, float]]:
    return {hit["external_id"]: (hit["title"], hit["price"]) for hit in suite.search("*", seller)}


def test_a_forbidden_text_is_refused_with_its_reason_until_it_is_corrected(
    suite: Suite, seller: str, tmp_path: Path
) -> None:
    sound: list[Row] = [("a", f"Lamp {seller}", "A lamp.", 100), ("b", f"Chair {seller}", "A chair.", 200)]
    bad: Row = ("c", f"Table {seller}", FORBIDDEN, 300)
    file = write_rows(tmp_path / "bad.yml", [*sound, bad])
    task = suite.upload(file, seller).document
    suite.settle()
    # The verdict may come before or after the end of the load: it moves its count once, and the sum stays.
    assert counts_of(task_of(suite, seller, task)) == {"added": 2, "rejected_moderation": 1}
    assert set(titles_found(suite, seller)) == {"a", "b"}
    [error] = [each for each in suite.errors(task) if each["level"] == "ERROR"]
    assert (error["external_id"], error["kind"], error["code"]) == ("c", "BANNED", "TEXT_FORBIDDEN")
    assert error["field"] == "description"
    [line] = [number for number, text in enumerate(file.read_text().splitlines(), 1) if 'id="c"' in text]
    assert (int(error["ordinal"]), int(error["line"])) == (3, line)
    assert "+7 900 123-45-67" in error["excerpt"]
    assert "text_auto_contacts" in error["message"]
    assert error["suggestion"].startswith("Take phone numbers")
    shown = suite.run("offer", "show", seller, "default", "c").document
    assert shown["status"] == "BANNED"
    explained = suite.run("offer", "explain", seller, "default", "c").document
    [step] = [each for each in explained["steps"] if each["stage"] == "MODERATION"]
    assert "text_auto_contacts" in step["text"]

    again = suite.upload(file, seller).document
    suite.settle()
    assert counts_of(task_of(suite, seller, again))["rejected_moderation"] == 1
    assert [each["code"] for each in suite.errors(again) if each["level"] == "ERROR"] == ["TEXT_FORBIDDEN"]

    corrected: Row = ("c", f"Table {seller}", "A table.", 300)
    mended = suite.upload(write_rows(tmp_path / "good.yml", [*sound, corrected]), seller).document
    suite.settle()
    assert counts_of(task_of(suite, seller, mended)) == {"unchanged": 2, "updated": 1}
    assert suite.errors(mended) == []
    assert set(titles_found(suite, seller)) == {"a", "b", "c"}

    # A rejection long after the end of the load moves its count once, even if it is repeated.
    for _ in range(2):
        suite.run("moderation", "apply", f"offer/{seller}/default/c", "text_toloka_spam")
        suite.settle()
        assert counts_of(task_of(suite, seller, mended)) == {"unchanged": 2, "rejected_moderation": 1}
    assert [each["code"] for each in suite.errors(mended)] == ["TEXT_FORBIDDEN"]
    assert set(titles_found(suite, seller)) == {"a", "b"}


@in_campaigns
def test_while_the_verdict_service_is_silent_the_approved_text_is_found_with_the_new_price(
    suite: Suite, seller: str, tmp_path: Path
) -> None:
    before: list[Row] = [("a", f"Old lamp {seller}", "A lamp.", 100), ("b", f"Chair {seller}", "A chair.", 200)]
    suite.upload(write_rows(tmp_path / "before.yml", before), seller)
    suite.settle()
    after: list[Row] = [
        ("a", f"New lamp {seller}", "A lamp.", 110), ("b", f"Chair {seller}", "A chair.", 220),
        ("c", f"Table {seller}", "A table.", 300),
    ]  # fmt: skip
    with stopped(suite, "cleanweb"):
        task = suite.upload(write_rows(tmp_path / "after.yml", after), seller).document
        assert task["status"] == "SUCCEEDED", "the load waits for no verdict"
        expected = {"a": (f"Old lamp {seller}", 110.0), "b": (f"Chair {seller}", 220.0)}
        suite.wait(lambda: titles_found(suite, seller) == expected, _SOON_S, "new prices, old texts, no new offer")
        waiting = suite.run("moderation", "pending", "--kind", "offer", "--limit", "1000").document["subjects"]
        keys = {subject["key"] for subject in waiting}
        assert {f"offer/{seller}/default/a", f"offer/{seller}/default/c"} <= keys
        assert f"offer/{seller}/default/b" not in keys, "an approved text is not judged again for its price"
        offers = suite.offers(seller)
        assert (offers["a"]["status"], offers["c"]["status"]) == ("ACTIVE", "PENDING")
    suite.settle()
    assert titles_found(suite, seller) == {
        "a": (f"New lamp {seller}", 110.0), "b": (f"Chair {seller}", 220.0), "c": (f"Table {seller}", 300.0)
    }  # fmt: skip


@in_campaigns
def test_a_load_repeated_requests_no_verdict(suite: Suite, seller: str, tmp_path: Path) -> None:
    rows: list[Row] = [(f"n{each}", f"Shelf {seller} {each}", f"Board {each}.", 100) for each in range(REPEATED)]
    suite.upload(write_rows(tmp_path / "first.yml", rows), seller)
    suite.settle()
    before = suite.metric("moderation", "classifeed_moderation_requests_total")
    texts = suite.query("moderation", "SELECT count(*) FROM decisions")
    assert counts_of(suite.upload(tmp_path / "first.yml", seller).document) == {"unchanged": REPEATED}
    dearer = write_rows(tmp_path / "second.yml", [(*row[:3], 101) for row in rows])
    assert counts_of(suite.upload(dearer, seller).document) == {"updated": REPEATED}
    suite.settle()
    assert suite.metric("moderation", "classifeed_moderation_requests_total") == before
    assert suite.query("moderation", "SELECT count(*) FROM decisions") == texts


@pytest.mark.slow
@in_campaigns
def test_every_text_has_its_verdict_though_everybody_is_killed(suite: Suite, seller: str, tmp_path: Path) -> None:
    def text_of(number: int) -> str:
        return FORBIDDEN if number % 7 == 0 else f"Piece {number}."

    rows: list[Row] = [(f"n{each}", f"Rug {seller} {each}", text_of(each), 100) for each in range(MANY)]
    file = write_rows(tmp_path / "many.yml", rows)
    forbidden = {f"n{each}" for each in range(0, MANY, 7)}
    decided = "SELECT count(*) FROM decisions WHERE subject_key LIKE %s"
    loading = suite.start_command("feed", "upload", file, "--seller", seller, "--timeout", "300")
    try:
        for share, service in enumerate(("moderation", "cleanweb", "offers", "moderation"), start=1):
            wanted = share * MANY // 6

            def is_far(wanted: int = wanted) -> bool:
                return int(suite.query("moderation", decided, f"offer/{seller}/%")[0][0]) >= wanted

            suite.wait(is_far, 300, f"{wanted} decisions")
            suite.kill(service)
        assert loading.wait(300) == 0
    finally:
        loading.kill()
        loading.communicate()
    suite.settle()
    task = suite.run("task", "show", seller, "default", "latest").document
    assert counts_of(task) == {"added": MANY - len(forbidden), "rejected_moderation": len(forbidden)}
    offers = suite.offers(seller)
    assert {key for key, offer in offers.items() if offer["status"] == "BANNED"} == forbidden
    assert {offer["status"] for key, offer in offers.items() if key not in forbidden} == {"ACTIVE"}
    [issue] = [each for each in task["statistics"]["issues"] if each["code"] == "TEXT_FORBIDDEN"]
    assert int(issue["count"]) == len(forbidden)
    listed = [each["external_id"] for each in suite.errors(task) if each["code"] == "TEXT_FORBIDDEN"]
    assert sorted(listed) == sorted(forbidden), "each refused offer is listed once"
    total = suite.run("search", "*", "--seller", seller, "--limit", "1").document["total"]
    assert int(total) == MANY - len(forbidden)
    applied = "SELECT subject_key FROM decisions WHERE subject_key LIKE %s GROUP BY 1 HAVING count(*) > 1"
    assert suite.query("moderation", applied, f"offer/{seller}/%") == [], "no text was decided twice"


def test_approved_points_are_found_and_removed_ones_are_gone(suite: Suite) -> None:
    point_id, bad_id = str(uuid.uuid4()), str(uuid.uuid4())
    word = f"w{point_id[:8]}"
    place = ("--at", "55.75,37.62")
    suite.run("point", "add", *place, "--tag", "accident", "--text", f"Two cars {word}", "--id", point_id)
    suite.run("point", "add", *place, "--tag", "other", "--text", f"{FORBIDDEN} {word}", "--id", bad_id)

    with Installation.find(suite.data).client() as client:

        def found() -> dict[str, Any]:
            request = search_service_pb2.SearchRequest(client="points", query=word, page_size=10)
            return {hit.pk: {field.name: field.values for field in hit.fields} for hit in client.search(request).hits}

        suite.wait(lambda: set(found()) == {point_id}, _SOON_S, "the approved point is found, the other one is not")
        suite.run("point", "vote", point_id, "--there", "--author", "driver")
        suite.wait(
            lambda: [value.int_value for value in found()[point_id]["votes_for"]] == [1], _SOON_S, "the vote is found"
        )
        suite.run("moderation", "apply", point_id, "text_toloka_obscene")
        suite.wait(lambda: found() == {}, _SOON_S, "the removed point is gone")
    assert suite.run("point", "show", bad_id).document["error"]["reason"] == "POINT_NOT_FOUND"
    assert suite.run("point", "show", point_id).document["error"]["reason"] == "POINT_NOT_FOUND"
    suite.settle()
