"""ServiceJobs: joins the job engine to a service, with all of its roles and its APIs."""

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
    """Options of `Worker`, by its names."""

    heartbeat_s: float
    claim_backoff_s: float
    prefetch: float


class ServiceJobs:
    """The jobs of a service: it says its tasks and queues, and gets its roles and its APIs.

    Attributes:
        store: enqueues jobs.
        admin: looks after them.

    Args:
        database: the service's database, with the job tables in its schema.
        tasks: the service's tasks.
        clean_up: its clean-up, whose task, queue and schedule are added; None: it has none.
        upkeep: further ones, such as those of its files (`classifeed_jobs.blobs`).
        own_schedules: further schedules of the service itself, put when it begins to run.
        lease_s: lease of jobs that bring none.
        key_ttl_s: how long idempotency keys are remembered.
        time_zone: clock of schedules that name none.
        max_open_per_caller: jobs that one caller may have triggered and that have not ended.
        reaper_period_s: the longest time between two polls for lost jobs.
        retention: how long ended jobs and the journal are kept.
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
            queues: how many jobs of each queue may run at once; those of the upkeep are added, with one each.
            drain_grace_s: how long runs may go on once the process receives SIGTERM.
            resources: handed to every run as `ctx.resources`.
            backlog: counts what waits for the worker; None: its jobs do, by queue.
            options: of the worker.
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
        from classifeed_jobs.api.http import job_routes  # it declares metrics, which others are not to show

        return job_routes(self.admin, info=info, keys=keys, policy=policy)
