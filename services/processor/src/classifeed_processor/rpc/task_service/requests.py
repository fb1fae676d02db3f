"""What requests name, tasks and pages, and the errors where they name none."""

from __future__ import annotations

from classifeed.feeds.v1.task_pb2 import Task
from classifeed_common.db import Tx
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import reading


async def require_task(tx: Tx, key: TaskKey) -> Task:
    """Return a task.

    Raises:
        NotFound: there is none.
    """
    task = await reading.get_task(tx, key)
    if task is None:
        raise key.not_found()
    return task


def task_key(field: str, name: str) -> TaskKey:
    """Return the task of a resource name; `field` is where the request has it.

    Raises:
        InvalidArgument: it is not the name of a task.
    """
    try:
        return TaskKey.parse(name)
    except ValueError as error:
        raise invalid_field(field, str(error)) from error


def invalid_field(field: str, words: str) -> InvalidArgument:
    """Return the error that says what is wrong with a field."""
    return InvalidArgument(f"{field.upper()}_INVALID", words, violations=[FieldViolation(field, words)])
