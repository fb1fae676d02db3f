"""Explanations of offers through the whole suite: the texts that a seller reads for each outcome."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.suite import Suite

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]
_OFFER = (
    '<offer id="{id}"><name>{name}</name><price>{price}</price><currencyId>RUB</currencyId>'
    "<categoryId>1</categoryId></offer>\n"
)


def write(path: Path, *offers: str) -> Path:
    """Write a feed with one offer per line, from line 4 on."""
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<yml_catalog><shop><categories><category id="1">Мебель</category>'
        '</categories>\n<currencies><currency id="RUB" rate="1"/></currencies><offers>\n'
    )
    path.write_text(head + "".join(offers) + "</offers></shop></yml_catalog>\n", encoding="utf-8")
    return path


def offer(external_id: str, *, price: str = "100") -> str:
    return _OFFER.format(id=external_id, name=f"Стул {external_id}", price=price)


def explain(suite: Suite, seller: str, external_id: str) -> tuple[dict[str, Any], Mapping[str, dict[str, Any]]]:
    result = suite.run("offer", "explain", seller, "default", external_id)
    assert result.exit_code == 0, result.document
    document = result.document
    return document, {step["stage"]: step for step in document["steps"]}


def test_found_offer(suite: Suite, seller: str, tmp_path: Path) -> None:
    suite.upload(write(tmp_path / "f.yml", offer("A"), offer("B")), seller)
    suite.settle()
    document, steps = explain(suite, seller, "B")
    assert document["fate"] == "SEARCHABLE"
    assert int(steps["OFFER"]["line"]) == 5
    assert "Стул B" in steps["OFFER"]["excerpt"]
    reached = [step for step in document["steps"] if step["state"] in {"DONE", "WARNING"}]
    times = [datetime.fromisoformat(step["time"]) for step in reached if step.get("time")]
    assert {"SOURCE", "FILE", "BATCH", "APPLIED", "REGISTERED", "SEARCHABLE"} <= {
        step["stage"] for step in reached if step.get("time")
    }
    assert times == sorted(times), "each step has its time, in order"
    assert not any(step["state"] in {"STOPPED", "UNKNOWN"} for step in document["steps"])
    assert not document["suggestion"]


def test_rejected_offer(suite: Suite, seller: str, tmp_path: Path) -> None:
    suite.upload(write(tmp_path / "f.yml", offer("A"), offer("BAD", price="дорого")), seller)
    document, steps = explain(suite, seller, "BAD")
    assert document["fate"] == "REJECTED"
    stopped = steps["CHECKS"]
    assert (stopped["state"], stopped["code"], int(stopped["line"])) == ("STOPPED", "PRICE_INVALID", 5)
    assert "дорого" in stopped["text"]
    assert document["suggestion"]
    assert steps["SEARCHABLE"]["state"] == "SKIPPED"


def test_rejected_offer_whose_older_state_is_found(suite: Suite, seller: str, tmp_path: Path) -> None:
    suite.upload(write(tmp_path / "f.yml", offer("A")), seller)
    suite.upload(write(tmp_path / "f.yml", offer("A", price="?")), seller)
    suite.settle()
    document, _ = explain(suite, seller, "A")
    assert document["fate"] == "REJECTED"
    assert "1" in document["summary"], "names the load whose state is found"


def test_duplicate(suite: Suite, seller: str, tmp_path: Path) -> None:
    suite.upload(write(tmp_path / "f.yml", offer("A"), offer("B"), offer("A", price="5")), seller)
    suite.settle()
    document, steps = explain(suite, seller, "A")
    assert document["fate"] == "SEARCHABLE", "the first one is loaded"
    assert [int(line) for line in document["duplicate_lines"]] == [6]
    assert int(steps["OFFER"]["line"]) == 4
    assert steps["CHECKS"]["state"] == "WARNING"
    assert "6" in steps["CHECKS"]["text"] + document["summary"] + document["suggestion"]


def test_removed_offer(suite: Suite, seller: str, tmp_path: Path) -> None:
    suite.upload(write(tmp_path / "f.yml", offer("A"), offer("B")), seller)
    second = suite.upload(write(tmp_path / "f.yml", offer("A")), seller).document
    suite.settle()
    document, steps = explain(suite, seller, "B")
    assert document["fate"] == "REMOVED"
    assert str(second["task_id"]) in document["summary"]
    assert any(step["state"] == "STOPPED" and step.get("time") for step in document["steps"])
    assert document["suggestion"]
    assert steps["SEARCHABLE"]["state"] == "SKIPPED"


def test_offer_of_a_failed_load(suite: Suite, seller: str, tmp_path: Path) -> None:
    suite.upload(write(tmp_path / "f.yml", offer("A")), seller)
    broken = write(tmp_path / "f.yml", offer("A", price="7"), "<offer id='C'><name>a & b</name></offer>\n")
    assert suite.upload(broken, seller).document["status"] == "FAILED"
    suite.settle()
    document, steps = explain(suite, seller, "A")
    assert document["fate"] == "LOAD_FAILED"
    assert (steps["FILE"]["state"], steps["FILE"]["code"], int(steps["FILE"]["line"])) == (
        "STOPPED",
        "MALFORMED_XML",
        5,
    )
    assert "&amp;" in steps["FILE"]["text"] + document["suggestion"]
    assert "1" in document["summary"], "says that the state of load 1 is still found"


def test_offer_that_nobody_sent(suite: Suite, seller: str, tmp_path: Path) -> None:
    suite.upload(write(tmp_path / "f.yml", offer("A")), seller)
    document, _ = explain(suite, seller, "Z")
    assert document["fate"] == "NEVER_SEEN"
    assert document["suggestion"]
