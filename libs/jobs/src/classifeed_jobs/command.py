"""`classifeed-jobs`: installs the tables, runs workers, and administers the jobs of one schema."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import Any, Final
from uuid import UUID

import psycopg
import structlog
from psycopg_pool import PoolTimeout

from classifeed_common.errors import DomainError, name_fault
from classifeed_jobs.jobs import Jobs
from classifeed_jobs.model.job import JobFilter
from classifeed_jobs.model.storable import NotStorable
from classifeed_jobs.schema.ddl import VERSIONS, ddl, view_ddl
from classifeed_jobs.schema.install import InstallError

_DSN: Final = "JOBS_DSN"
_SCHEMA: Final = "JOBS_SCHEMA"


class UsageError(Exception):
    """The command line is invalid; the message says how to correct it."""


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 on success, 1 on failure, 2 for an invalid command line."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.verb == "sql":
            say(f"CREATE SCHEMA IF NOT EXISTS {arguments.schema};\nSET search_path = {arguments.schema};\n")
            say("\n".join(ddl(version) for version in VERSIONS if version > arguments.after))
            return
        if arguments.verb == "views":
            say(view_ddl(arguments.name, of=arguments.schema))
            return
        if arguments.verb == "retry" and arguments.job is None and arguments.queue_name is None:
            raise UsageError("retry needs a JOB, or --queue for all failed jobs of a queue")
        jobs = _jobs_of(arguments)
        if arguments.verb == "worker":
            jobs.run_worker(dict(arguments.queue) or None, drain_grace_s=arguments.drain_grace_s)
        else:
            asyncio.run(_with(jobs, arguments))
    except UsageError as error:
        sys.exit(_fail(str(error), 2))
    except KeyboardInterrupt:
        sys.exit(130)
    except PoolTimeout:
        sys.exit(_fail("PostgreSQL cannot be reached: check that it runs and that the DSN is right", 1))
    except psycopg.errors.UndefinedTable:
        sys.exit(_fail(f"schema {arguments.schema} has no job tables: run `classifeed-jobs install` first", 1))
    except (InstallError, NotStorable, DomainError, psycopg.Error) as error:
        sys.exit(_fail(name_fault(error), 1))


def say(text: str) -> None:
    """Write to the standard output."""
    print(text)  # noqa: T201 the output of the command


def _fail(message: str, code: int) -> int:
    print(f"classifeed-jobs: {message}", file=sys.stderr)  # noqa: T201
    return code


async def _with(jobs: Jobs, arguments: argparse.Namespace) -> None:
    if not structlog.is_configured():  # logs must not mix with the output
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    async with jobs:
        await _VERBS[arguments.verb](jobs, arguments)


async def _install(jobs: Jobs, _: argparse.Namespace) -> None:
    applied = await jobs.install()
    done = f"applied {', '.join(map(str, applied))}" if applied else "nothing to do"
    say(f"schema {jobs.database.schema}: version {VERSIONS[-1]}, {done}")


async def _list(jobs: Jobs, arguments: argparse.Namespace) -> None:
    which = JobFilter(queue=arguments.queue_name, task=arguments.task)
    page = await jobs.admin.list_jobs(which, status=arguments.status, limit=arguments.limit)
    rows = [
        (str(job.job_id), job.queue, job.task, job.status, str(job.attempt), f"{job.created_at:%Y-%m-%d %H:%M:%S}")
        for job in page.jobs
    ]
    say(_table(("JOB", "QUEUE", "TASK", "STATUS", "ATTEMPT", "CREATED"), rows))
    for job in page.jobs:
        if job.error:
            say(f"{job.job_id}: {job.error}")


async def _retry(jobs: Jobs, arguments: argparse.Namespace) -> None:
    by = f"classifeed-jobs:{os.environ.get('USER', '-')}"
    if arguments.job is not None:
        await jobs.admin.retry(arguments.job, by=by)
        say(f"{arguments.job} is back in its queue")
        return
    count = await jobs.admin.retry_failed(JobFilter(queue=arguments.queue_name, task=arguments.task), by=by)
    say(f"{count} jobs are back in their queue")


async def _top(jobs: Jobs, arguments: argparse.Namespace) -> None:
    while True:
        rows = [
            (
                stats.queue,
                *map(str, (stats.ready, stats.delayed, stats.parked, stats.running)),
                f"{stats.oldest_s or 0:.0f}",
                f"{stats.succeeded_per_s:.1f}",
                str(stats.failed_last_hour),
                str(stats.workers),
            )
            for stats in await jobs.admin.queues()
        ]
        columns = ("QUEUE", "READY", "DELAYED", "BLOCKED", "RUNNING", "OLDEST S", "DONE/S", "FAILED/H", "WORKERS")
        if arguments.once:
            say(_table(columns, rows))
            return
        say(f"\x1b[2J\x1b[H{_table(columns, rows)}")
        await asyncio.sleep(arguments.every_s)


_VERBS: Final[dict[str, Callable[[Jobs, argparse.Namespace], Awaitable[None]]]] = {
    "install": _install,
    "upgrade": _install,
    "list": _list,
    "retry": _retry,
    "top": _top,
}


def _jobs_of(arguments: argparse.Namespace) -> Jobs:
    if arguments.app is None:
        if not arguments.dsn:
            raise UsageError(f"name the database: --dsn, the variable {_DSN}, or --app module:name")
        if arguments.verb == "worker":
            raise UsageError("worker needs --app module:name, where the tasks are registered")
        return Jobs(arguments.dsn, schema=arguments.schema, pool_max=2)
    module, _, name = arguments.app.partition(":")
    sys.path.insert(0, "")
    try:
        found = getattr(import_module(module), name or "jobs", None)
    except ImportError as error:
        raise UsageError(f"--app {arguments.app}: {name_fault(error)}") from error
    if not isinstance(found, Jobs):
        raise UsageError(f"--app {arguments.app}: {module} has no Jobs named {name or 'jobs'}")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="classifeed-jobs", description="The job engine of an application.")
    parser.add_argument("--dsn", default=os.environ.get(_DSN), help=f"connection string (default: {_DSN})")
    parser.add_argument(
        "--schema", default=os.environ.get(_SCHEMA, "jobs"), help=f"schema of the tables (default: {_SCHEMA}, or jobs)"
    )
    parser.add_argument("--app", help="module:name of the application's Jobs, instead of --dsn and --schema")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("install", help="create the tables if they do not exist")
    verbs.add_parser("upgrade", help="upgrade the tables to the newest version")
    sql = verbs.add_parser("sql", help="print the SQL of the tables, for a migration tool")
    sql.add_argument("--after", type=int, default=0, help="only the changes after this version")
    views = verbs.add_parser("views", help="print the SQL of a schema whose view dl_jobs has live and completed jobs")
    views.add_argument("name", help="name of the schema to create")
    worker = verbs.add_parser("worker", help="run jobs until SIGTERM or SIGINT")
    worker.add_argument(
        "--queue",
        action="append",
        default=[],
        type=_queue,
        metavar="NAME=N",
        help="run N jobs of a queue at once (default: default=10)",
    )
    worker.add_argument(
        "--drain-grace-s", type=float, default=30.0, help="seconds that runs get to complete after a signal"
    )
    for name, text in (("list", "show jobs, the newest first"), ("retry", "put failed jobs back into their queue")):
        verb = verbs.add_parser(name, help=text)
        verb.add_argument("--queue", dest="queue_name", help="only jobs of this queue")
        verb.add_argument("--task", help="only jobs of this task")
        if name == "list":
            verb.add_argument("--status", choices=("queued", "running", "succeeded", "failed", "canceled"))
            verb.add_argument("--limit", type=int, default=20, help="maximum number of jobs")
        else:
            verb.add_argument("job", nargs="?", type=UUID, help="id of a single job")
    top = verbs.add_parser("top", help="show the queues repeatedly")
    top.add_argument("--once", action="store_true", help="show the queues once")
    top.add_argument("--every-s", type=float, default=2.0, help="seconds between two refreshes")
    return parser


def _queue(text: str) -> tuple[str, int]:
    name, _, count = text.rpartition("=")
    if not name or not count.isdigit() or int(count) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=N with N of 1 or more")
    return name, int(count)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (columns, *rows))
    return "\n".join(line.rstrip() for line in lines)
