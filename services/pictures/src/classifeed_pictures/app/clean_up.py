"""The clean-up of pictures, with its retention times (ADR 0036)."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Final

from classifeed_common.db import Tx
from classifeed_common.host_limits import forget_hosts
from classifeed_jobs import CleanUp, until_nothing_is_left
from classifeed_pictures.app.events.list_event_files import remove_event_files
from classifeed_pictures.clients.event_bucket import EventBucket
from classifeed_pictures.store.events.event_gaps import delete_closed
from classifeed_pictures.store.files.robots import delete_old_rules
from classifeed_pictures.store.states.comparisons import delete_comparisons
from classifeed_pictures.store.states.requests import delete_reported

CLEAN_UP: Final = "pictures.clean-up"
_ROWS: Final = 2000
_COMPARISONS: Final = timedelta(days=90)
_RULES: Final = timedelta(days=30)
_GAPS: Final = timedelta(days=90)


def pictures_clean_up(*, waiting_days: int, bucket: EventBucket, event_files_days: int) -> CleanUp:
    """Return the clean-up.

    Args:
        waiting_days: days for which a request is kept whose picture failed; the failure was reported.
        bucket: bucket with event files.
        event_files_days: days for which processed event files are kept.
    """
    waiting = timedelta(days=waiting_days)
    return CleanUp(
        CLEAN_UP,
        [
            until_nothing_is_left(partial(_remove_reported, age=waiting), limit=_ROWS),
            partial(remove_event_files, bucket=bucket, kept_days=event_files_days),
            until_nothing_is_left(forget_hosts, limit=_ROWS),
            until_nothing_is_left(_remove_comparisons, limit=_ROWS),
            until_nothing_is_left(_remove_rules, limit=_ROWS),
            until_nothing_is_left(_remove_gaps, limit=_ROWS),
        ],
    )


async def _remove_reported(tx: Tx, at: datetime, limit: int, *, age: timedelta) -> int:
    return await delete_reported(tx, before=at - age, limit=limit)


async def _remove_rules(tx: Tx, at: datetime, limit: int) -> int:
    return await delete_old_rules(tx, before=at - _RULES, limit=limit)


async def _remove_comparisons(tx: Tx, at: datetime, limit: int) -> int:
    return await delete_comparisons(tx, before=at - _COMPARISONS, limit=limit)


async def _remove_gaps(tx: Tx, at: datetime, limit: int) -> int:
    return await delete_closed(tx, before=at - _GAPS, limit=limit)
