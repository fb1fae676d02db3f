"""Names of enum values."""

from __future__ import annotations

from classifeed.documents.v1.index_queue_service_pb2 import IndexQueue
from classifeed.feeds.v1 import task_pb2
from classifeed_common.enum_names import name_of


def test_a_value_is_named_without_its_type() -> None:
    assert name_of(task_pb2.TaskStatus, task_pb2.TASK_STATUS_SUCCEEDED) == "succeeded"
    assert name_of(IndexQueue, 1) == "main"
    assert name_of(task_pb2.TaskStatus, 0) == "unspecified"


def test_a_value_of_a_newer_version_is_a_number_that_says_so() -> None:
    assert name_of(task_pb2.TaskStatus, 77) == "unknown_77"
