"""Failure hooks of tasks, called in the transaction that completes a job as failed or canceled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import structlog

from classifeed_common.db import Tx
from classifeed_common.faults.interruptions import INTERRUPTIONS
from classifeed_common.faults.passing import is_passing
from classifeed_jobs.model.task import FailedJob, Task

_log = structlog.get_logger("classifeed_jobs.model.failure_hooks")


class HookFailed(Exception):
    """A failure hook raised, so the job is not complete either: roll back. A retry would fail the same way."""

    def __init__(self, job: FailedJob) -> None:
        super().__init__(f"the on_failed hook of task {job.task!r} failed for job {job.job_id}")
        self.job = job


async def call_hooks(tx: Tx, tasks: Mapping[str, Task], ended: Iterable[tuple[FailedJob, Mapping[str, Any]]]) -> None:
    """Call the failure hooks of jobs, with their args. Tasks without a hook are skipped.

    Raises:
        HookFailed: A hook raised; the transaction must not commit.
        Exception: A transient error of a hook, unchanged.
    """
    for job, args in ended:
        task = tasks.get(job.task)
        if task is None or task.on_failed is None:
            continue
        try:
            parsed = task.parse_args(args)
        except INTERRUPTIONS:
            raise
        except BaseException:  # noqa: BLE001 - a model may raise anything
            # The handler never ran with these args, so the hook has nothing to undo.
            _log.warning("job.hook.skipped", job_id=str(job.job_id), task=job.task, exc_info=True)
            continue
        try:
            await task.on_failed(tx, parsed, job)
        except INTERRUPTIONS:
            raise
        except BaseException as error:
            if is_passing(error):
                raise
            _log.exception("job.hook.failed", job_id=str(job.job_id), task=job.task)
            raise HookFailed(job) from error


def hook_tasks(tasks: Mapping[str, Task]) -> list[str]:
    """Return the names of tasks with a failure hook, in order."""
    return sorted(name for name, task in tasks.items() if task.on_failed is not None)
