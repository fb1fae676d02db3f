"""Canceled and repeated loads: the requests to the service, and the output."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from classifeed.feeds.v1 import task_pb2, task_service_pb2

NAME = "sellers/my-shop/feeds/default/tasks/7"
TASK = {
    "name": NAME, "seller_id": "my-shop", "namespace": "default", "task_id": 7, "kind": "TASK_KIND_LOAD",
    "status": "TASK_STATUS_SUCCEEDED", "phase": "TASK_PHASE_DONE", "run": 3, "source_bytes": 14310,
    "file_name": "prices.yml", "expected_total": 33, "create_time": "2026-11-21T19:50:03Z",
}  # fmt: skip
CANCELED = {
    "status": "TASK_STATUS_CANCELED", "error_code": "LOAD_CANCELED", "error_message": "Canceled before its end.",
    "statistics": {"total": 12, "added": 12},
}  # fmt: skip


def task(**changes: Any) -> task_pb2.Task:
    return ParseDict({**TASK, **changes}, task_pb2.Task())


def words(text: str) -> str:
    return " ".join(text.split())


def test_cancel_names_the_load_and_how_to_have_it_after_all(api: Any, terminal: Any) -> None:
    api.respond("GetTask", task(status="TASK_STATUS_IN_PROGRESS"))
    api.respond("CancelTask", task(**CANCELED))
    ended = terminal("task", "cancel", "my-shop", "default", "7")
    assert [request.name for request in api.requests["CancelTask"]] == [NAME]
    assert ended.exit_code == 0
    assert "Task 7 of my-shop/default: CANCELED" in ended.out
    assert "Canceled before its end." in ended.out
    assert "classifeed task rerun my-shop default 7" in ended.out
    shown = terminal("task", "cancel", "my-shop", "default", "7", "--json").document
    assert (shown["status"], shown["error_code"]) == ("CANCELED", "LOAD_CANCELED")


def test_latest_is_the_newest_load(api: Any, terminal: Any) -> None:
    api.respond("ListTasks", task_service_pb2.ListTasksResponse(tasks=[task()]))
    api.respond("GetTask", task(status="TASK_STATUS_IN_PROGRESS"))
    api.respond("CancelTask", task(**CANCELED))
    assert terminal("task", "cancel", "my-shop", "default", "latest").exit_code == 0
    assert api.requests["CancelTask"][0].name == NAME
    api.respond("ListTasks", task_service_pb2.ListTasksResponse())
    none = terminal("task", "rerun", "my-shop", "default", "latest", "--json")
    assert (none.exit_code, none.document["error"]["reason"]) == (1, "TASK_NOT_FOUND")
    assert terminal("task", "cancel", "my-shop", "default").exit_code == 2, "which load is never guessed"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("TASK_SENT", "`classifeed task rerun my-shop default TASK`"),
        ("TASK_ENDED", "`classifeed task rerun my-shop default TASK`"),
        ("TASK_HELD", "`classifeed task reject my-shop default 7`"),
    ],
)
def test_what_cannot_be_canceled_is_reported_with_what_can_be_done(
    api: Any, terminal: Any, refusal: Any, reason: str, expected: str
) -> None:
    api.respond("GetTask", task())
    api.respond("CancelTask", refusal("FAILED_PRECONDITION", reason, "… (RerunTask).", {"task": NAME}))
    ended = terminal("task", "cancel", "my-shop", "default", "7")
    assert ended.exit_code == 1
    assert expected in words(ended.err)
    assert "RerunTask" not in ended.err


def test_rerun_waits_for_the_new_load_and_ends_as_it_does(api: Any, terminal: Any) -> None:
    again = f"{NAME.rpartition('/')[0]}/9"
    api.respond("GetTask", task())
    api.respond("RerunTask", task(name=again, task_id=9, status="TASK_STATUS_IN_PROGRESS", rerun_of=NAME))
    running = task(name=again, task_id=9, status="TASK_STATUS_IN_PROGRESS", rerun_of=NAME)
    api.respond("WatchTask", [running, task(name=again, task_id=9, rerun_of=NAME)])
    ended = terminal("task", "rerun", "my-shop", "default", "7", "--allow-removals")
    assert ended.exit_code == 0
    assert "Task 9 of my-shop/default: SUCCEEDED" in ended.out
    assert "prices.yml (file of load 7 again)" in ended.out
    [request] = api.requests["RerunTask"]
    assert (request.name, request.allow_removals, len(request.request_id)) == (NAME, True, 36)
    assert api.requests["WatchTask"][0].name == again
    api.respond("WatchTask", [task(name=again, task_id=9, status="TASK_STATUS_HELD")])
    held = terminal("task", "rerun", "my-shop", "default", "7", "--json")
    assert (held.exit_code, held.document["status"]) == (1, "HELD")
    assert api.requests["RerunTask"][1].request_id != request.request_id
    assert not api.requests["RerunTask"][1].allow_removals


def test_rerun_that_does_not_wait(api: Any, terminal: Any) -> None:
    api.respond("GetTask", task())
    api.respond("RerunTask", task(task_id=9, status="TASK_STATUS_IN_PROGRESS"))
    ended = terminal("task", "rerun", "my-shop", "default", "7", "--no-wait")
    assert ended.exit_code == 0
    assert "classifeed task show my-shop default 9" in ended.out
    assert "WatchTask" not in api.requests
