"""The job engine: a queue in PostgreSQL, many workers, one runner per lock key, and a fence around every effect.

Producers enqueue in their own transaction (`JobStore`), handlers are registered by name (`register`), a `Worker` runs
them and a `Reaper` gives back what a dead process held. At least once; `JobContext.guard` makes effects happen once.
"""

from __future__ import annotations

from classifeed_jobs.admin import AuditEntry, JobAdmin, JobPage, SchedulePage
from classifeed_jobs.backoff import Backoff, Exponential, Fixed, Linear
from classifeed_jobs.cleaning import Begin, CleanStep, CleanUp, until_nothing_is_left
from classifeed_jobs.context import JobContext
from classifeed_jobs.failure_hooks import FailedJob, HookFailed
from classifeed_jobs.job import TERMINAL, EnqueuedJob, HeldLock, Job, JobEvent, JobFilter, JobRequest, WorkerProcess
from classifeed_jobs.pipelines import PipelineError, load_pipelines
from classifeed_jobs.queues import QueueLimits, Queues, QueueStats
from classifeed_jobs.reaper import Reaper
from classifeed_jobs.registry import Registry, Task, register, registry
from classifeed_jobs.retention import Retention
from classifeed_jobs.scheduler import Scheduler
from classifeed_jobs.schedules import Schedule, Schedules, ScheduleState
from classifeed_jobs.schema import ddl
from classifeed_jobs.settings import JobSettings
from classifeed_jobs.signals import ClaimLost, Fail, Progress, Retry, Snooze, StopRequested
from classifeed_jobs.slices import Slice, SliceJob
from classifeed_jobs.store import JobStore
from classifeed_jobs.waker import Waker
from classifeed_jobs.worker import Worker

__all__ = [
    "TERMINAL",
    "AuditEntry",
    "Backoff",
    "Begin",
    "ClaimLost",
    "CleanStep",
    "CleanUp",
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
    "Linear",
    "PipelineError",
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
    "Slice",
    "SliceJob",
    "Snooze",
    "StopRequested",
    "Task",
    "Waker",
    "Worker",
    "WorkerProcess",
    "ddl",
    "load_pipelines",
    "register",
    "registry",
    "until_nothing_is_left",
]
