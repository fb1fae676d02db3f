"""The job engine: a queue in PostgreSQL, many workers, one running job per lock key, and a fence around every effect.

Producers enqueue in their own transaction (`JobStore`). Handlers are registered by name (`register`). A `Worker` runs
jobs at least once; a `Reaper` requeues the jobs of dead processes. `JobContext.guard` makes effects happen once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from classifeed_jobs.admin.admin import MAX_OPEN_PER_CALLER, AuditEntry, JobAdmin, JobPage, SchedulePage
from classifeed_jobs.admin.queues import QueueLimits, Queues, QueueStats
from classifeed_jobs.enqueue.notifier import Notifier
from classifeed_jobs.enqueue.store import JobStore
from classifeed_jobs.jobs import Jobs
from classifeed_jobs.maintenance.cleaning import Begin, CleanStep, CleanUp, Upkeep, until_nothing_is_left
from classifeed_jobs.maintenance.reaper import Reaper
from classifeed_jobs.maintenance.retention import Retention
from classifeed_jobs.model.failure_hooks import HookFailed
from classifeed_jobs.model.job import (
    TERMINAL,
    EnqueuedJob,
    HeldLock,
    Job,
    JobEvent,
    JobFilter,
    JobRequest,
    WorkerProcess,
)
from classifeed_jobs.model.outcomes import ClaimLost, Fail, Progress, Retry, Snooze, StopRequested
from classifeed_jobs.model.retry import Backoff, Exponential, Fixed, Linear
from classifeed_jobs.model.storable import NotStorable, bounded_key
from classifeed_jobs.model.task import FailedJob, Task
from classifeed_jobs.schedule.scheduler import Scheduler
from classifeed_jobs.schedule.schedules import Schedule, Schedules, ScheduleState
from classifeed_jobs.schema.ddl import ddl
from classifeed_jobs.schema.placing import PlacingError, place_jobs
from classifeed_jobs.task.context import JobContext
from classifeed_jobs.task.pipelines import PipelineError, load_pipelines
from classifeed_jobs.task.registry import Registry, register, registry
from classifeed_jobs.task.slices import Cursor, Slice, SliceJob
from classifeed_jobs.worker.worker import Worker

if TYPE_CHECKING:
    from classifeed_jobs.schema.tables import add_jobs
    from classifeed_jobs.settings import JobSettings, ServiceJobSettings

# Imported on first use: SQLAlchemy is an extra, and importing pydantic-settings takes as long as all the rest.
_LATER: Final = {
    "JobSettings": "classifeed_jobs.settings",
    "ServiceJobSettings": "classifeed_jobs.settings",
    "add_jobs": "classifeed_jobs.schema.tables",
}

__all__ = [
    "MAX_OPEN_PER_CALLER",
    "TERMINAL",
    "AuditEntry",
    "Backoff",
    "Begin",
    "ClaimLost",
    "CleanStep",
    "CleanUp",
    "Cursor",
    "EnqueuedJob",
    "Exponential",
    "Fail",
    "FailedJob",
    "Fixed",
    "HeldLock",
    "HookFailed",
    "Job",
    "JobAdmin",
    "JobContext",
    "JobEvent",
    "JobFilter",
    "JobPage",
    "JobRequest",
    "JobSettings",
    "JobStore",
    "Jobs",
    "Linear",
    "NotStorable",
    "Notifier",
    "PipelineError",
    "PlacingError",
    "Progress",
    "QueueLimits",
    "QueueStats",
    "Queues",
    "Reaper",
    "Registry",
    "Retention",
    "Retry",
    "Schedule",
    "SchedulePage",
    "ScheduleState",
    "Scheduler",
    "Schedules",
    "ServiceJobSettings",
    "Slice",
    "SliceJob",
    "Snooze",
    "StopRequested",
    "Task",
    "Upkeep",
    "Worker",
    "WorkerProcess",
    "add_jobs",
    "bounded_key",
    "ddl",
    "load_pipelines",
    "place_jobs",
    "register",
    "registry",
    "until_nothing_is_left",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
