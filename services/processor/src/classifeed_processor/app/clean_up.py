"""Clean-up of old loads: only the last tasks of each namespace are kept."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final

from classifeed_common.blobs import BlobRefs
from classifeed_jobs import Begin, CleanUp, Cursor, Slice
from classifeed_processor.store import cleaning, results

CLEAN_UP: Final = "processor.clean-up"
_REFS: Final = BlobRefs()
_NAMESPACES: Final = 200
_TASKS: Final = 100
_ROWS: Final = 5000


def processor_clean_up(*, history_tasks: int) -> CleanUp:
    """Return the clean-up; `history_tasks` is the number of ended tasks to keep in each namespace."""
    return CleanUp(CLEAN_UP, [partial(remove_old_tasks, kept=history_tasks)])


async def remove_old_tasks(begin: Begin, _at: datetime, cursor: Cursor | None, *, kept: int) -> Slice:
    """Remove old tasks with their details, in one transaction of at most 100 tasks and 5,000 rows per table.

    Tasks are removed by number, not by age. Tasks that have not ended or wait for a decision are kept. In a namespace
    whose feed was removed, only the removal is kept.
    """
    async with begin() as tx:
        namespaces = await cleaning.list_namespaces(tx, tuple(cursor or ("", "")), _NAMESPACES)
        old = await cleaning.list_old_tasks(tx, namespaces, kept=kept, limit=_TASKS) if namespaces else []
        await results.lock_tasks(tx, old)  # jobs and late results lock the task before they write about it
        details = await cleaning.delete_details(tx, old, _ROWS)
        removed = sum(details)
        is_whole = max(details) < _ROWS
        if is_whole:
            removed += await cleaning.delete_tasks(tx, old)
            # The sweeper deletes the files a day later, unless other tasks refer to them.
            await _REFS.drop(tx, *(ref for key in old for ref in (key.blob_ref, key.issues_ref)))
    if not is_whole or len(old) == _TASKS:
        return Slice(next=cursor or ("", ""), processed=removed)
    return Slice(next=list(namespaces[-1]) if len(namespaces) == _NAMESPACES else None, processed=removed)
