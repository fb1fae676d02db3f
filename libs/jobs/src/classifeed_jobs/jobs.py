"""Jobs: the job engine of an application, configured by a connection string."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import structlog

from classifeed_common.db import Database, Tx
from classifeed_jobs.admin.admin import JobAdmin
from classifeed_jobs.enqueue.borrowed import asynchronous_connection, blocking_connection, borrowed, run_now
from classifeed_jobs.enqueue.notifier import Notifier
from classifeed_jobs.enqueue.store import JobStore
from classifeed_jobs.maintenance.reaper import Reaper
from classifeed_jobs.model.job import EnqueuedJob, JobRequest
from classifeed_jobs.schedule.scheduler import Scheduler
from classifeed_jobs.schedule.schedules import Schedule, Schedules
from classifeed_jobs.schema.install import install
from classifeed_jobs.task.registry import Registry
from classifeed_jobs.worker.worker import Worker

if TYPE_CHECKING:
    from pydantic import BaseModel

_log = structlog.get_logger("classifeed_jobs.jobs")

Handler = TypeVar("Handler", bound=Callable[..., Any])
DEFAULT_QUEUE = "default"


class Jobs:
    """The jobs of an application, in a schema of its database.

    Attributes:
        database: Connection pool; open inside `async with jobs`.
        registry: Registered tasks.
        store: JobStore, which enqueues, cancels and finds jobs in transactions of `database`.
        admin: JobAdmin, with the operations of operators.

    Args:
        dsn: Connection string of libpq.
        schema: Schema of the job tables.
        time_zone: Default time zone of schedules.
        lease_s: Seconds without a heartbeat of a worker after which other workers get its jobs.
        pool_max: Maximum number of connections for handlers and `enqueue`.
    """

    def __init__(
        self, dsn: str, *, schema: str = "jobs", time_zone: str = "UTC", lease_s: int = 60, pool_max: int = 10
    ) -> None:
        self.database = Database(dsn, schema=schema, application_name="classifeed-jobs", max_size=pool_max)
        self.registry = Registry()
        self._notifier = Notifier(self.database)
        self.store = JobStore(default_lease_ttl_s=lease_s, notifier=self._notifier, tasks=self.registry)
        self._schedules = Schedules(time_zone)
        self.admin = JobAdmin(self.database, self.store, schedules=self._schedules)
        self._own: list[Schedule] = []

    async def __aenter__(self) -> Self:
        await self.database.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._notifier.settled()
        await self.database.close()

    async def install(self) -> list[int]:
        """Create the tables, or upgrade them to the newest version; see `schema.install.install`."""
        return await install(self.database)

    @overload
    def task(self, name: Handler, /) -> Handler: ...
    @overload
    def task(self, name: str | None = None, **options: Any) -> Callable[[Handler], Handler]: ...
    def task(self, name: Any = None, **options: Any) -> Any:
        """Register a handler: `@jobs.task`, or `@jobs.task("name", max_run_s=60)`; see `Registry.register`."""
        if callable(name):
            return self.registry.register(name.__name__)(name)

        def add(handler: Handler) -> Handler:
            return self.registry.register(name or handler.__name__, **options)(handler)

        return add

    def schedule(self, schedule: Schedule) -> None:
        """Add a schedule that the worker stores when it starts."""
        self._own.append(schedule)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        """Provide a transaction for `store`. Workers are notified after the commit, at most once per queue in 5 ms."""
        async with self._notifier.transaction() as tx:
            yield tx

    async def enqueue(
        self,
        task: str | Callable[..., Any],
        args: Mapping[str, Any] | BaseModel | None = None,
        *,
        connection: Any = None,
        queue: str = DEFAULT_QUEUE,
        **options: Any,
    ) -> EnqueuedJob:
        """Enqueue a job.

        Args:
            task: Name of the task, or a handler that `task` has registered under the handler's name.
            args: Mapping that can be encoded as JSON, or a pydantic model.
            connection: Connection whose open transaction gets the job: an asynchronous connection of psycopg, or an
                AsyncSession or AsyncConnection of SQLAlchemy. None: a separate transaction.
            queue: Name of the queue. Any name is valid; in a queue without workers, the job waits.
            options: Further arguments of `JobStore.enqueue`.
        """
        if connection is None:
            async with self.transaction() as tx:
                return await self.store.enqueue(tx, queue, _name_of(task), args or {}, **options)
        async with borrowed(await asynchronous_connection(connection), self.database.schema) as tx:
            return await self.store.enqueue(tx, queue, _name_of(task), args or {}, **options)

    def enqueue_sync(
        self,
        connection: Any,
        task: str | Callable[..., Any],
        args: Mapping[str, Any] | BaseModel | None = None,
        *,
        queue: str = DEFAULT_QUEUE,
        **options: Any,
    ) -> EnqueuedJob:
        """Enqueue a job in the open transaction of blocking code. The job exists if and only if that commits.

        The other arguments are those of `enqueue`.

        Args:
            connection: Blocking connection of psycopg, a session or connection of SQLAlchemy (postgresql+psycopg), or
                Django's connection.
            task: Name of the task, or a handler that `task` has registered under the handler's name.

        Raises:
            TypeError: The connection has another type.
            ValueError: The connection is in autocommit mode, without a transaction.
        """

        async def insert() -> EnqueuedJob:
            async with borrowed(blocking_connection(connection), self.database.schema) as tx:
                return await self.store.enqueue(tx, queue, _name_of(task), args or {}, **options)

        return run_now(insert())

    async def copy(self, requests: Sequence[JobRequest]) -> int:
        """Enqueue any number of jobs by COPY; return their number."""
        async with self.transaction() as tx:
            return await self.store.copy_many(tx, requests)

    async def work(self, stop: asyncio.Event, queues: Mapping[str, int] | None = None, **options: Any) -> None:
        """Run jobs, requeue jobs of dead processes and follow schedules until `stop` is set, or one of these fails.

        Args:
            stop: Event that starts the drain; running jobs then get `drain_grace_s` to complete.
            queues: Maximum number of running jobs by queue; default: `{"default": 10}`.
            options: Further arguments of `Worker`. Each run is logged unless `logs_runs=False`.
        """
        worker = Worker(
            self.database,
            self.store,
            self.registry,
            queues=queues or {DEFAULT_QUEUE: 10},
            **{"logs_runs": True, **options},
        )
        reaper = Reaper(self.database, self.registry)
        scheduler = Scheduler(self.database, self.store, own=self._own, schedules=self._schedules)
        async with asyncio.TaskGroup() as group:
            for role in (worker, reaper, scheduler):
                group.create_task(role.run(stop))

    def run_worker(self, queues: Mapping[str, int] | None = None, **options: Any) -> None:
        """Run `work` until SIGTERM or SIGINT. Call it in the main thread.

        Raises:
            psycopg_pool.PoolTimeout: The database cannot be reached.
        """
        asyncio.run(self._run_worker(queues, options))

    async def _run_worker(self, queues: Mapping[str, int] | None, options: Mapping[str, Any]) -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with self:
            _log.info("jobs.worker.started", queues=dict(queues or {DEFAULT_QUEUE: 10}), tasks=sorted(self.registry))
            await self.work(stop, queues, **options)
            _log.info("jobs.worker.stopped")


def _name_of(task: str | Callable[..., Any]) -> str:
    return task if isinstance(task, str) else task.__name__
