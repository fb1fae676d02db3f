"""The clean-up of fetches: a fetch that created a task is kept as long as its task."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Final, Protocol

from classifeed_common.blobs import BlobRefs
from classifeed_common.host_limits import forget_hosts
from classifeed_jobs import Begin, CleanUp, Cursor, Slice, until_nothing_is_left
from classifeed_loader.domain.fetches import FetchKey
from classifeed_loader.store import cleaning, fetching

CLEAN_UP: Final = "loader.clean-up"
_FETCHES: Final = 200
_HOSTS: Final = 2000


class Tasks(Protocol):
    """The processor, as the clean-up needs it."""

    async def list_existing_tasks(self, names: Collection[str]) -> set[str]:
        """Return the names of the tasks that exist."""


def loader_clean_up(tasks: Tasks, refs: BlobRefs) -> CleanUp:
    """Return the clean-up. It removes fetches without a task for removed sources only; other ones are trimmed by each
    fetch.
    """
    return CleanUp(
        CLEAN_UP,
        [partial(remove_old_fetches, tasks=tasks, refs=refs), until_nothing_is_left(forget_hosts, limit=_HOSTS)],
    )


async def remove_old_fetches(
    begin: Begin, _at: datetime, cursor: Cursor | None, *, tasks: Tasks, refs: BlobRefs, limit: int = _FETCHES
) -> Slice:
    """Remove the fetches of the next slice whose tasks are gone, each with its reference to the file.

    Raises:
        grpc.aio.AioRpcError: the processor does not respond; nothing of the slice is removed.
    """
    after = FetchKey(*(cursor or ("", "", 0)))
    async with begin() as tx:
        listed = await cleaning.list_ended(tx, after, limit)
    there = await tasks.list_existing_tasks({task for _, task in listed if task})
    old = [key for key, task in listed if task not in there]
    async with begin() as tx:
        for key in old:
            await refs.drop(tx, key.blob_ref)
            await fetching.delete(tx, key)
    return Slice(next=list(listed[-1][0]) if len(listed) == limit else None, processed=len(old))
