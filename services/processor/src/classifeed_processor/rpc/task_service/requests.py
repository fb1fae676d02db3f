"""Lookups of the tasks in requests, and errors about invalid fields."""

from __future__ import annotations

from classifeed.feeds.v1.task_pb2 import Task
from classifeed_common.db import Tx
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import reading


async def require_task(tx: Tx, key: TaskKey) -> Task:
    """Return a task.

    Raises:
        NotFound: the task does not exist.
    """
    task = await reading.find_task(tx, key)
    if task is None:
        raise key.not_found()
    return task


def task_key(field: str, name: str) -> TaskKey:
    """Return the task of a resource name; `field` is the request's field with the name.

    Raises:
        InvalidArgument: the name is not that of a task.
    """
    try:
        return TaskKey.parse(name)
    except ValueError as error:
        raise invalid_field(field, str(error)) from error


def invalid_field(field: str, words: str) -> InvalidArgument:
    """Return the error about an invalid field."""
    return InvalidArgument(f"{field.upper()}_INVALID", words, violations=[FieldViolation(field, words)])
