"""What requests name, tasks and pages, and the errors where they name none."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

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


def write_token(*values: object) -> str:
    """Return the page token that carries these values."""
    return base64.urlsafe_b64encode(json.dumps(values, ensure_ascii=False).encode()).decode()


def read_token(token: str, default: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values that a page token carries; `default` for none, and as the pattern of their types.

    Raises:
        InvalidArgument: no list gave this token out, or another one did.
    """
    if not token:
        return default
    try:
        values = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (binascii.Error, ValueError) as error:
        raise invalid_field("page_token", "is not a token of ListTasks or ListOfferErrors") from error
    if not isinstance(values, list) or [type(value) for value in values] != [type(value) for value in default]:
        raise invalid_field("page_token", "is a token of another list")
    return tuple(values)
