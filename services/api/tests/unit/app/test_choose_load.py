"""A canceled load is explained only for an offer that it changed last."""

from __future__ import annotations

import pytest

from classifeed.feeds.v1.task_pb2 import TASK_STATUS_CANCELED, TASK_STATUS_SUCCEEDED, Task, TaskStatus
from classifeed.offers.v1.offer_pb2 import Offer
from classifeed_api.app.choose_load import find_canceled
from classifeed_api.domain.unknown import UNKNOWN, Unknown

LOADED = Task(task_id=5, status=TASK_STATUS_SUCCEEDED)


@pytest.mark.parametrize(
    ("newest", "offer", "status", "is_found"),
    [
        (LOADED, Offer(last_task_id=7), TASK_STATUS_CANCELED, True),
        (None, Offer(last_task_id=7), TASK_STATUS_CANCELED, True),
        (LOADED, Offer(last_task_id=5), TASK_STATUS_CANCELED, False),
        (LOADED, Offer(last_task_id=7), TASK_STATUS_SUCCEEDED, False),  # it was created after the loads were listed
        (LOADED, Offer(last_task_id=7), None, False),
        (None, Offer(), TASK_STATUS_CANCELED, False),
        (LOADED, UNKNOWN, TASK_STATUS_CANCELED, False),
        (LOADED, None, TASK_STATUS_CANCELED, False),
    ],
)
async def test_only_where_it_changed_the_offer_last(
    newest: Task | None, offer: Offer | Unknown | None, status: TaskStatus | None, is_found: bool
) -> None:
    async def find(number: int) -> Task | None:
        assert number == 7
        return None if status is None else Task(task_id=7, status=status)

    assert (await find_canceled(newest, offer, find) is not None) == is_found
