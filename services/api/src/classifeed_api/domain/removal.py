"""Decides whether a namespace that was removed before, or is unknown here, has offers to remove."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from classifeed.feeds.v1.load_pb2 import DISPOSITION_DELETE_ALL
from classifeed.feeds.v1.task_pb2 import (
    TASK_KIND_DELETE,
    TASK_STATUS_CANCELED,
    TASK_STATUS_FAILED,
    TASK_STATUS_SUPERSEDED,
    Task,
)

_UNDONE: Final = frozenset({TASK_STATUS_FAILED, TASK_STATUS_CANCELED})


def has_offers_left(newest_first: Iterable[Task], disposition: int) -> bool:
    """Return whether a namespace may have offers that a removal would act on, by its newest tasks.

    It may have some after a load that is newer than the last removal, and after a removal that failed or was canceled.
    A removal of all offers also acts on the offers that an earlier removal kept. Tasks that were superseded, or
    canceled before they began, are ignored.

    Args:
        newest_first: the tasks.
        disposition: disposition of the removal.
    """
    for task in newest_first:
        if task.status == TASK_STATUS_SUPERSEDED or (task.status == TASK_STATUS_CANCELED and not task.run):
            continue
        leaves_some = disposition == DISPOSITION_DELETE_ALL and task.disposition != DISPOSITION_DELETE_ALL
        return task.kind != TASK_KIND_DELETE or task.status in _UNDONE or leaves_some
    return False
