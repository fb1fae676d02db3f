"""Chooses the load that explains an offer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from classifeed.feeds.v1.task_pb2 import (
    TASK_KIND_DELETE,
    TASK_STATUS_CANCELED,
    TASK_STATUS_FAILED,
    TASK_STATUS_SUCCEEDED,
    TASK_STATUS_SUPERSEDED,
    Task,
)
from classifeed.offers.v1.offer_pb2 import OFFER_STATUS_REMOVED, Offer
from classifeed_api.domain.unknown import UNKNOWN, Unknown
from classifeed_api.explain.facts import Look

# The processor reads a whole file for each look, so only a few older loads are searched.
_OLDER_LOOKS: Final = 3
_PASSED_OVER: Final = frozenset({TASK_STATUS_SUPERSEDED, TASK_STATUS_CANCELED})

LookAt = Callable[[Task], Awaitable[Look]]
FindTask = Callable[[int], Awaitable[Task | None]]


class Choice(NamedTuple):
    """The load to explain and the loads found on the way; the fields have the names of those of `Facts`."""

    load: Look | Unknown | None
    newer: Task | None = None
    before: Look | None = None
    lacking: tuple[int, ...] = ()


def counting(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks that say something about offers: all but superseded and canceled ones."""
    return [task for task in tasks if task.status not in _PASSED_OVER]


async def find_canceled(newest: Task | None, offer: Offer | Unknown | None, find: FindTask) -> Task | None:
    """Return the canceled load that changed the offer last; None if another load did, or if that is unknown.

    A canceled load says nothing about the offers that it did not reach, so it explains only those that it changed.

    Args:
        newest: first task of `counting`; None if there is none.
        offer: the offer as the offers service keeps it.
        find: finds a task by its number.
    """
    if not isinstance(offer, Offer) or offer.last_task_id <= (0 if newest is None else newest.task_id):
        return None
    task = await find(offer.last_task_id)
    return task if task is not None and task.status == TASK_STATUS_CANCELED else None


async def choose_load(
    tasks: Sequence[Task], newest: Look, offer: Offer | Unknown | None, *, look: LookAt, find: FindTask
) -> Choice:
    """Return the newest load that has the offer, or the load that removed it; otherwise the newest load.

    Args:
        tasks: result of `counting`, newest first.
        newest: the look at the first of them.
        offer: the offer as the offers service keeps it.
        look: looks at a task; may take long.
        find: finds a task by its number.
    """
    removed_by = _remover_of(offer)
    if newest.task.status == TASK_STATUS_FAILED or not _lacks(newest, is_removed=bool(removed_by)):
        return Choice(newest)
    number = newest.task.task_id
    older = [task for task in tasks[1:] if task.status != TASK_STATUS_FAILED and task.kind != TASK_KIND_DELETE]
    if removed_by:
        remover = next((task for task in tasks if task.task_id == removed_by), None) or await find(removed_by)
        if remover is not None:
            is_newest = remover.task_id == number
            load = newest if is_newest else await look(remover)
            before, _ = await _first_with_it([task for task in older if task.task_id < removed_by], look)
            return Choice(load, None if is_newest else newest.task, before, (number,))
    candidates = older[:_OLDER_LOOKS]
    if isinstance(offer, Offer) and all(task.task_id != offer.last_task_id for task in candidates):
        # Patches are many and change little, so the load that last had the offer may be much older.
        candidates += [task for task in older if task.task_id == offer.last_task_id]
    having, lacking = await _first_with_it(candidates, look, limit=len(candidates))
    if having is not None:
        return Choice(having, newest.task, None, (number, *lacking))
    return Choice(newest, None, None, (number, *lacking))


async def _first_with_it(
    tasks: Sequence[Task], look: LookAt, limit: int = _OLDER_LOOKS
) -> tuple[Look | None, list[int]]:
    """Return the first task whose file has the offer, and the numbers of the tasks before it whose files do not."""
    lacking: list[int] = []
    for task in tasks[:limit]:
        seen = await look(task)
        if seen.has_offer:
            return seen, lacking
        if seen.has_offer is None:
            break
        lacking.append(task.task_id)
    return None, lacking


def _lacks(newest: Look, *, is_removed: bool) -> bool:
    if newest.has_offer is not None:
        return not newest.has_offer
    # The file took too long to be read. If it had the offer, the load would have restored it or listed an issue.
    return is_removed and newest.task.status == TASK_STATUS_SUCCEEDED and newest.issues is not UNKNOWN


def _remover_of(offer: Offer | Unknown | None) -> int:
    """Return the number of the task that removed the offer; 0 if none did."""
    return offer.last_task_id if isinstance(offer, Offer) and offer.status == OFFER_STATUS_REMOVED else 0
