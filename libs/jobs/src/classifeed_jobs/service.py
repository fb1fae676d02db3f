"""ServiceJobs: integrates the job engine into a service, with its roles and APIs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from classifeed_common.auth import KeyStore, Policy
from classifeed_common.db import Database
from classifeed_common.rpc.server import Servicer
from classifeed_common.runner import Role
from classifeed_jobs.admin.admin import MAX_OPEN_PER_CALLER, JobAdmin
from classifeed_jobs.api.rpc import job_servicer
from classifeed_jobs.enqueue.store import KEY_TTL_S, JobStore
from classifeed_jobs.maintenance.cleaning import CleanUp, Upkeep
from classifeed_jobs.maintenance.reaper import Reaper
from classifeed_jobs.maintenance.retention import Retention
from classifeed_jobs.model.task import Task
from classifeed_jobs.schedule.scheduler import Scheduler
from classifeed_jobs.schedule.schedules import Schedule, Schedules
from classifeed_jobs.worker.worker import Worker

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from classifeed_jobs.api.http import Info


class WorkerOptions(TypedDict, total=False):
    """Options of `Worker`."""

    heartbeat_s: float
    claim_backoff_s: float
    prefetch: float


class ServiceJobs:
    """The jobs of a service. It takes the service's tasks, and provides the roles and APIs of the job engine.

    Attributes:
        store: JobStore, which enqueues jobs.
        admin: JobAdmin, with the operations of operators.

    Args:
        database: The service's database, with the job tables in its schema.
        tasks: The service's tasks.
        clean_up: Clean-up, whose task, queue and schedule are added; None if there is none.
        upkeep: Further maintenance tasks, such as those of files (`classifeed_jobs.blobs`).
        own_schedules: Further schedules of the service, stored when it starts.
        lease_s: Default lease of jobs, in seconds.
        key_ttl_s: Seconds for which idempotency keys are kept.
        time_zone: Default time zone of schedules.
        max_open_per_caller: Maximum number of incomplete jobs that one caller has triggered.
        reaper_period_s: Maximum seconds between two polls for lost jobs.
        retention: Retention of complete jobs and of the journal.
    """

    def __init__(
        self,
        database: Database,
        tasks: Mapping[str, Task],
        *,
        clean_up: CleanUp | None = None,
        upkeep: Sequence[Upkeep] = (),
        own_schedules: Sequence[Schedule] = (),
        lease_s: int = 60,
        key_ttl_s: float = KEY_TTL_S,
        time_zone: str = "UTC",
        max_open_per_caller: int = MAX_OPEN_PER_CALLER,
        reaper_period_s: float = 10.0,
        retention: Retention | None = None,
    ) -> None:
        self._database = database
        self._upkeep = [*([] if clean_up is None else [clean_up]), *upkeep]
        self._tasks = dict(tasks)
        for each in self._upkeep:
            self._tasks |= each.tasks()
        schedules = Schedules(time_zone)
        self.store = JobStore(default_lease_ttl_s=lease_s, key_ttl_s=key_ttl_s, tasks=self._tasks)
        self.admin = JobAdmin(database, self.store, max_open_per_caller=max_open_per_caller, schedules=schedules)
        self._reaper = Reaper(
            database, self._tasks, reaper_period_s=reaper_period_s, retention=retention or Retention()
        )
        own = [*own_schedules, *(each.schedule for each in self._upkeep)]
        self._scheduler = Scheduler(database, self.store, own=own, schedules=schedules)

    def roles(
        self,
        queues: Mapping[str, int],
        *,
        drain_grace_s: float,
        resources: Any = None,
        backlog: Callable[[], Awaitable[Mapping[str, int]]] | None = None,
        **options: Unpack[WorkerOptions],
    ) -> Sequence[Role]:
        """Return the roles `work`, `reap` and `schedule`.

        Args:
            queues: Maximum number of running jobs by queue. The queues of the maintenance tasks are added, with one
                job each.
            drain_grace_s: Seconds that runs get to complete after SIGTERM.
            resources: Resources of the service, available to each run as `ctx.resources`.
            backlog: Function that counts the waiting work; None for the jobs by queue.
            options: Further options of the worker.
        """
        queues = dict(queues)
        for each in self._upkeep:
            queues.setdefault(each.name, 1)
        worker = Worker(
            self._database,
            self.store,
            self._tasks,
            queues=queues,
            resources=resources,
            drain_grace_s=drain_grace_s,
            **options,
        )
        return (
            Role("work", worker.run, backlog or worker.backlog, worker.blocked),
            Role("reap", self._reaper.run, self._reaper.backlog, self._reaper.blocked),
            Role("schedule", self._scheduler.run, blocked=self._scheduler.blocked),
        )

    def servicer(self) -> Servicer:
        """Return JobService for the service's server."""
        return job_servicer(self.admin)

    def routes(self, *, info: Info, keys: KeyStore | None, policy: Policy) -> Sequence[BaseRoute]:
        """Return the HTTP API of the jobs; see `job_routes`."""
        from classifeed_jobs.api.http import (
            job_routes,
        )  # the import declares metrics; only services with the API export them

        return job_routes(self.admin, info=info, keys=keys, policy=policy)
