"""Calls of sellers about their loads are passed on to the processor, with its response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from classifeed.feeds.v1.task_service_pb2 import CancelTaskRequest, RerunTaskRequest

NAME = "sellers/shop/feeds/default/tasks/1"
REQUEST = "1f0b7c9e-6a55-4b8e-9a0e-2c8f0f0e7a11"
Refusal = Callable[[Awaitable[object]], Awaitable[tuple[grpc.StatusCode, str, list[str]]]]


async def test_cancel_and_rerun_are_the_processors(api: Any, refusal: Refusal) -> None:
    canceled = await api.stub.CancelTask(CancelTaskRequest(name=NAME))
    assert (canceled.name, canceled.status) == (NAME, 6)
    again = await api.stub.RerunTask(RerunTaskRequest(name=NAME, request_id=REQUEST, allow_changes=True))
    assert again.rerun_of == NAME
    await api.stub.RerunTask(RerunTaskRequest(name=NAME))
    _, named, unnamed = api.processor.passed_on
    assert (named.request_id, named.allow_removals, named.allow_changes) == (REQUEST, False, True)
    assert (len(unnamed.request_id), unnamed.allow_changes) == (36, False), (
        "one that is repeated on its way is one load"
    )
    gone = RerunTaskRequest(name="sellers/shop/feeds/default/tasks/2")
    assert await refusal(api.stub.RerunTask(gone)) == (grpc.StatusCode.FAILED_PRECONDITION, "SOURCE_GONE", [])
    for wrong in (CancelTaskRequest(name="sellers/shop/feeds/default"), RerunTaskRequest(name=NAME, request_id="x")):
        call = api.stub.CancelTask if isinstance(wrong, CancelTaskRequest) else api.stub.RerunTask
        assert (await refusal(call(wrong)))[:2] == (grpc.StatusCode.INVALID_ARGUMENT, "REQUEST_INVALID")
