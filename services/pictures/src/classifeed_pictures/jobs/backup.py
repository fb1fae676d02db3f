"""The jobs `pictures.backup`, on a schedule, and `pictures.restore`, on request; they never run at the same time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel

from classifeed_common.db import Tx
from classifeed_jobs import Exponential, JobContext, JobStore, Progress, Registry, Schedule
from classifeed_pictures.app.backups.make_backup import MakeBackup
from classifeed_pictures.app.backups.restore_backup import RestoreBackup

TASK: Final = "pictures.backup"
RESTORE: Final = "pictures.restore"
_UNKNOWN_FAULTS: Final = 5


class RestoreArgs(BaseModel):
    """The backup to restore."""

    name: str


async def enqueue_restore(store: JobStore, tx: Tx, name: str) -> UUID:
    """Enqueue the restore of a backup, and return the job."""
    return (await store.enqueue(tx, RESTORE, RESTORE, RestoreArgs(name=name), lock_key=TASK)).job_id


def register_restore(registry: Registry, restore: RestoreBackup) -> None:
    """Add the task of the restore to a registry."""

    @registry.register(
        RESTORE, backoff=Exponential(first_s=1, cap_s=60), resumes=True, max_unknown_faults=_UNKNOWN_FAULTS
    )
    async def restore_backup(ctx: JobContext, args: RestoreArgs) -> AsyncIterator[Progress]:
        async with aclosing(restore(ctx, args.name)) as steps:
            async for progress in steps:
                yield progress


@dataclass(frozen=True, slots=True)
class BackupJob:
    """Makes backups periodically, one at a time over all processes.

    Attributes:
        make: maker of backups.
        every_s: seconds between two backups.
    """

    make: MakeBackup
    every_s: int

    @property
    def name(self) -> str:
        """Name of the queue, the task and the schedule."""
        return TASK

    @property
    def schedule(self) -> Schedule:
        """Schedule of the job. Missed runs are skipped."""
        return Schedule(TASK, queue=TASK, task=TASK, lock_key=TASK, every_s=self.every_s, missed="skip")

    def tasks(self) -> Registry:
        """Return its task for the service's worker."""
        registry = Registry()

        @registry.register(TASK, backoff=Exponential(first_s=10, cap_s=600), resumes=True)
        async def make_backup(_ctx: JobContext, _args: dict[str, Any]) -> AsyncIterator[Progress]:
            async with aclosing(self.make()) as steps:
                async for states in steps:
                    yield Progress(processed=states)

        return registry
