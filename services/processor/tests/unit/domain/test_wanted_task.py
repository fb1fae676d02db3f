from __future__ import annotations

from typing import Any

import pytest

from classifeed.feeds.v1 import load_pb2, task_pb2
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed_common.errors import InvalidArgument
from classifeed_processor.domain.wanted_task import read_request

UPLOAD = {"upload_id": "u1", "source_sha256": "a" * 64}
FETCH = {"feed_loader_task_id": 3, "feed_loader_result_id": 9, "feed_version": 2, "source_sha256": "a" * 64}
DELETE = {"kind": task_pb2.TASK_KIND_DELETE, "feed_version": 2}


def request(fields: dict[str, Any]) -> CreateTaskRequest:
    return CreateTaskRequest(seller_id="shop", namespace="default", **fields)


@pytest.mark.parametrize(
    "fields", [UPLOAD, FETCH, DELETE, UPLOAD | {"format": "yml"}, FETCH | {"skip_if_loaded": True}]
)
def test_one_thing_to_do_is_taken_and_the_rest_is_filled_in(fields: dict[str, Any]) -> None:
    wanted = read_request(request(fields))
    assert wanted.kind == fields.get("kind", task_pb2.TASK_KIND_LOAD)
    assert (wanted.mode, wanted.disposition) == (load_pb2.LOAD_MODE_REPLACE, load_pb2.DISPOSITION_DELETE)
    assert (wanted.upload_id is None) == ("upload_id" not in fields)
    assert (wanted.feed_loader_result_id is None) == ("feed_loader_result_id" not in fields)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({}, {"source_sha256", "upload_id"}),
        ({"source_sha256": "a" * 64}, {"upload_id"}),
        (UPLOAD | {"source_sha256": ""}, {"source_sha256"}),
        (UPLOAD | FETCH, {"feed_loader_task_id", "feed_loader_result_id"}),
        (UPLOAD | {"feed_loader_result_id": 1}, {"feed_loader_result_id"}),
        (UPLOAD | {"feed_version": 1}, {"feed_version"}),
        (UPLOAD | {"skip_if_loaded": True}, {"skip_if_loaded"}),
        (FETCH | {"feed_version": 0}, {"feed_version"}),
        (FETCH | {"default_currency": "QQQ"}, {"default_currency"}),
        (DELETE | {"default_currency": "KZT"}, {"default_currency"}),
        (FETCH | {"feed_loader_task_id": 0}, {"feed_loader_task_id"}),
        (FETCH | {"feed_loader_result_id": 0}, {"feed_loader_result_id"}),
        (DELETE | {"feed_version": 0}, {"feed_version"}),
        (DELETE | UPLOAD, {"upload_id", "source_sha256"}),
        (DELETE | FETCH, {"feed_loader_task_id", "feed_loader_result_id", "source_sha256"}),
        (
            DELETE | {"format": "yml", "source_bytes": 1, "file_name": "a", "skip_if_loaded": True},
            {"format", "source_bytes", "file_name", "skip_if_loaded"},
        ),
        (DELETE | {"mode": load_pb2.LOAD_MODE_PATCH}, {"mode"}),
    ],
)
def test_what_does_not_go_together_is_named(fields: dict[str, Any], named: set[str]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_request(request(fields))
    assert {violation.field for violation in caught.value.violations} == named
