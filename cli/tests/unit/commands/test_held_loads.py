"""Output of held loads: their effects, reasons, the commands that decide, and the decisions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.feeds.v1 import feed_service_pb2, task_pb2, task_service_pb2

Snapshot = Callable[[str, Any], None]
NAME = "sellers/my-shop/feeds/default/tasks/7"
HELD = {
    "name": NAME,
    "seller_id": "my-shop",
    "namespace": "default",
    "task_id": 7,
    "kind": "TASK_KIND_LOAD",
    "status": "TASK_STATUS_HELD",
    "phase": "TASK_PHASE_SENT",
    "file_name": "price.yml",
    "source_bytes": 14310,
    "format": "yml",
    "expected_total": 40,
    "create_time": "2026-11-21T19:50:03Z",
    "statistics": {"total": 40, "added": 40},
    "hold": {
        "reasons": ["HOLD_REASON_REMOVALS"],
        "removals": 1200,
        "offers": 1327,
        "sample_offers": [
            {"external_id": f"{number}", "title": "Ковёр шерстяной ручной работы, 2 × 3 м, с бахромой, синий"}
            for number in range(9)
        ]
        + [{"external_id": "9\x1b[2J"}],
    },
}
NO_OFFERS = {"reasons": ["HOLD_REASON_NO_OFFERS"], "removals": 2, "offers": 2, "sample_offers": [{"external_id": "a"}]}

PRICES = {
    "reasons": ["HOLD_REASON_PRICES"],
    "changes": 1200,
    "moved_prices": 1200,
    "changed_prices": 1327,
    "price_ratio": 10,
    "sample_prices": [
        {
            "external_id": f"{number}",
            "title": "Ковёр шерстяной ручной работы, 2 × 3 м, с бахромой, синий",
            "price": {"amount_micros": "1250500000", "currency_code": "RUB"},
            "new_price": {"amount_micros": "12505000000", "currency_code": "RUB"},
        }
        for number in range(2)
    ]
    + [{"external_id": "2", "price": {"amount_micros": "99000000", "currency_code": "RUB"}}],
}
UNAVAILABLE = {"reasons": ["HOLD_REASON_UNAVAILABLE"], "changes": 1298, "turned_unavailable": 1298}
BOTH = {**PRICES, "removals": 1, "offers": 1327, "sample_offers": [{"external_id": "a"}]}
REMOVALS = {"reasons": ["HOLD_REASON_REMOVALS"], "removals": 1200, "offers": 1327, "changes": 3}


def task(**changes: Any) -> task_pb2.Task:
    return ParseDict({**HELD, **changes}, task_pb2.Task())


def test_upload_that_is_held(
    api: Any, terminal: Any, snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("price.yml").write_bytes(b"x" * 14310)
    api.respond("UploadFeed", feed_service_pb2.Upload(name="uploads/1", task=NAME))
    api.respond("WatchTask", [task()])
    snapshot("feed-upload-held", terminal("feed", "upload", "price.yml", "--seller", "my-shop"))
    ended = terminal("feed", "upload", "price.yml", "--seller", "my-shop", "--allow-removals", "--json")
    assert (ended.exit_code, ended.document["hold"]["reasons"]) == (1, ["REMOVALS"])
    allowed = terminal("feed", "upload", "price.yml", "--seller", "my-shop", "--allow-changes", "--json")
    assert allowed.exit_code == 1, "the other guard"
    specs = [parts[0].spec for parts in api.requests["UploadFeed"]]
    assert [spec.allow_removals for spec in specs] == [False, True, False]
    assert [spec.allow_changes for spec in specs] == [False, False, True]


def test_held_load_is_shown(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    renamed = {**NO_OFFERS, "renamed": 2, "renamed_from": "7", "renamed_to": "a7"}
    api.respond("GetTask", task(hold=renamed), task(status="TASK_STATUS_SUPERSEDED"))
    snapshot("task-show-held", terminal("task", "show", "my-shop", "default", "7"))
    assert "; a newer load replaced it" in " ".join(terminal("task", "show", "my-shop", "default", "7").out.split())
    api.respond("ListTasks", task_service_pb2.ListTasksResponse(tasks=[task(), task(hold=NO_OFFERS, statistics={})]))
    snapshot("task-list-held", terminal("task", "list", "my-shop", "default"))


def test_what_a_load_would_change_is_shown(api: Any, terminal: Any, snapshot: Snapshot) -> None:
    statistics = {"total": 1327, "updated": 127, "skipped": 1200}
    api.respond("GetTask", task(hold=PRICES, statistics=statistics))
    snapshot("task-show-held-prices", terminal("task", "show", "my-shop", "default", "7"))
    moves = [{**PRICES, "price_ratio": ratio} for ratio in (0.05, 0, 1234.5)]
    tasks = [task(hold=hold, statistics=statistics) for hold in (UNAVAILABLE, *moves, BOTH, REMOVALS)]
    api.respond("ListTasks", task_service_pb2.ListTasksResponse(tasks=tasks))
    snapshot("task-list-held-changes", terminal("task", "list", "my-shop", "default"))
    api.respond("GetTask", task(hold=BOTH, statistics=statistics))
    assert "To change and remove them:" in terminal("task", "show", "my-shop", "default", "7").out


@pytest.mark.parametrize(("verb", "method"), [("confirm", "ConfirmTask"), ("reject", "RejectTask")])
def test_decision_waits_for_the_end(api: Any, terminal: Any, snapshot: Snapshot, verb: str, method: str) -> None:
    api.respond(method, task(status="TASK_STATUS_IN_PROGRESS"))
    numbers = {"total": 40, "added": 40, "removed": 1200 if verb == "confirm" else 0}
    done = {"status": "TASK_STATUS_SUCCEEDED", "decision": f"HOLD_DECISION_{verb.upper()}", "statistics": numbers}
    warnings = [] if verb == "confirm" else ["REMOVALS_REJECTED: 1,200 offers that the file lacks stay."]
    api.respond("WatchTask", [task(status="TASK_STATUS_IN_PROGRESS"), task(**done, warnings=warnings)])
    snapshot(f"task-{verb}", terminal("task", verb, "my-shop", "default", "7"))
    [request] = api.requests[method]
    assert request.name == NAME
    assert terminal("task", verb, "my-shop", "default", "7", "--json").document["decision"] == verb.upper()


def test_what_cannot_be_decided_is_refused(api: Any, terminal: Any, refusal: Any) -> None:
    api.respond("ConfirmTask", refusal("FAILED_PRECONDITION", "TASK_NOT_HELD", "It is SUCCEEDED."))
    ended = terminal("task", "confirm", "my-shop", "default", "7", "--json")
    assert (ended.exit_code, ended.document["error"]["reason"]) == (1, "TASK_NOT_HELD")
    assert terminal("task", "reject", "my-shop", "default", "latest").exit_code == 2


def test_decided_load_that_was_overtaken_is_no_success(api: Any, terminal: Any) -> None:
    api.respond("RejectTask", task(status="TASK_STATUS_IN_PROGRESS"))
    api.respond("WatchTask", [task(status="TASK_STATUS_SUPERSEDED")])
    assert terminal("task", "reject", "my-shop", "default", "7").exit_code == 1
