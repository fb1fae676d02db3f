"""Whether a namespace that was removed before, or that is unknown here, has anything to be removed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from classifeed.feeds.v1.task_pb2 import (
    TASK_KIND_DELETE,
    TASK_STATUS_CANCELED,
    TASK_STATUS_FAILED,
    TASK_STATUS_SUPERSEDED,
    Task,
)

_UNDONE: Final = frozenset({TASK_STATUS_FAILED, TASK_STATUS_CANCELED})


def has_offers_left(newest_first: Iterable[Task]) -> bool:
    """Say by the newest tasks of a namespace whether it may have offers that no removal is for.

    It may after a load that is newer than the last removal, and after a removal that failed or was canceled. Tasks that
    gave way, or were canceled before they began, say nothing.
    """
    for task in newest_first:
        if task.status == TASK_STATUS_SUPERSEDED or (task.status == TASK_STATUS_CANCELED and not task.run):
            continue
        return task.kind != TASK_KIND_DELETE or task.status in _UNDONE
    return False
