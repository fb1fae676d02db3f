"""`make bench-jobs`: the job engine compared with other engines on one durable PostgreSQL, then its own promises.

BENCH_REPEATS (5), BENCH_PIN_S (60), BENCH_DONE (1,000,000) and BENCH_DELAYED (100,000) make a run longer or shorter.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
from itertools import count
from typing import Any, Final

import psycopg
import structlog
from tools.arguments import parser_of

from bench.jobs import own, recovery
from bench.kit.report import Report, Spread, quantile
from bench.kit.running import measure_in_process, running_postgres, size_of
from classifeed_devkit.embedded.postgres import EmbeddedPostgres

_REPEATS: Final = size_of("BENCH_REPEATS", 5)
_PIN_S: Final = size_of("BENCH_PIN_S", 60)
_DONE: Final = size_of("BENCH_DONE", 1_000_000)
_DELAYED: Final = size_of("BENCH_DELAYED", 100_000)
_JOBS = {1000: 100_000, 100: 50_000, 10: 20_000}  # enough that start and stop of a worker do not matter
_PROCRASTINATE_JOBS = 1_000
_WAKES = 150
_IDLE_S = 30.0
_RESTART_JOBS = 300_000  # more than both windows take, so that the queue never runs empty


class Bench:
    """One server; each measurement gets a new database, which the next one drops."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.server = server
        self.report = Report("jobs", repeats=_REPEATS)
        self.knobs: dict[str, str] = {}
        self._numbers = count()
        self._databases: list[str] = []

    def database(self) -> str:
        """Create a database and return its DSN; drop the previous one."""
        with psycopg.connect(self.server.dsn, autocommit=True) as connection:
            for name in self._databases:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
            name = f"bench_{next(self._numbers)}"
            connection.execute(f"CREATE DATABASE {name}")
            connection.execute("CHECKPOINT")
        self._databases = [name]
        return self.server.dsn_of(name)

    def side(self, engine: str, measure: str, jobs: int, batch: int) -> dict[str, Any]:
        """Return one measurement of one engine, made in a new process."""
        found: dict[str, Any] = measure_in_process("bench.jobs.side", engine, measure, self.database(), jobs, batch)
        self.knobs[engine] = found["knobs"]
        return found

    def drain(self) -> None:
        """Measure no-op jobs a second, the engines in turn."""
        runs: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for _ in range(_REPEATS):
            for batch, jobs in _JOBS.items():
                for engine in ("ours", "pgqueuer", "raw"):
                    runs.setdefault((engine, batch), []).append(self.side(engine, "drain", jobs, batch))
            found = self.side("procrastinate", "drain", _PROCRASTINATE_JOBS, 0)
            runs.setdefault(("procrastinate", 0), []).append(found)
        rates = {key: [run["jobs_s"] for run in found] for key, found in runs.items()}
        for (engine, batch), jobs_s in rates.items():
            cpu_us = statistics.median(run["cpu_us"] for run in runs[engine, batch])
            name = f"drain, {engine}" + (f", batch {batch}" if batch else "")
            self.report.show(f"{name}: jobs/s, CPU µs/job", Spread(jobs_s), cpu_us)
        for engine, batch, goal in (("pgqueuer", 1000, 2), ("pgqueuer", 10, 3), ("raw", 1000, 0.5)):
            self.report.ratio(f"drain, batch {batch}, to {engine}", rates["ours", batch], rates[engine, batch], goal)
        self.report.ratio("drain to procrastinate", rates["ours", 1000], rates["procrastinate", 0], 20)
        self.report.ratio("drain, batch 100, to raw", rates["ours", 100], rates["raw", 100])

    def wake(self) -> None:
        """Measure from the response to the enqueueing commit until the handler runs, on an idle worker."""
        for engine in ("ours", "pgqueuer"):
            found = self.side(engine, "wake", _WAKES, 1)
            waits, commits = found["waits"], found["commits"]
            commit = statistics.median(commits)
            self.report.show("one commit, ms: p50, p99", commit * 1e3, quantile(commits, 99) * 1e3)
            for name, value, goal in (("p50", statistics.median(waits), 1.5), ("p99", quantile(waits, 99), 4.0)):
                own_goal = goal if engine == "ours" else None
                self.report.at_most(
                    f"wake {name} / commit, {engine}", value / commit, own_goal, f"({value * 1e3:.2f} ms)"
                )

    def enqueue(self) -> None:
        """Measure how notifying the workers slows producers down."""
        rates = asyncio.run(own.measure_enqueue(self.database(), _REPEATS))
        self.report.ratio("enqueue with the notifier / without notification", rates["notifier"], rates["nobody"], 0.8)
        self.report.ratio("enqueue with the trigger / without notification", rates["trigger"], rates["nobody"])

    def recover(self) -> None:
        """Measure recovery from a killed worker and from a restart of PostgreSQL."""
        killed_s = [recovery.measure_kill(self.database()) for _ in range(_REPEATS)]
        self.report.at_most("SIGKILL of a worker: all run again, s", max(killed_s), recovery.LEASE_S + 1.0)
        runs = [recovery.measure_restart(self.server, self.database(), _RESTART_JOBS) for _ in range(_REPEATS)]
        self.report.at_most("PostgreSQL restarted: first end, s", max(run["recovered_s"] for run in runs), 60 + 1.0)
        after, before = [run["after_s"] for run in runs], [run["before_s"] for run in runs]
        self.report.ratio("PostgreSQL restarted: throughput after / before", after, before, 0.95)
        self.report.at_most("PostgreSQL restarted: jobs lost", sum(run["lost"] for run in runs), 0)

    def pin(self) -> None:
        """Measure throughput while a transaction stays open and holds back the xmin horizon."""
        for engine, goal in (("ours", 0.9), ("pgqueuer", None)):
            found = self.side(engine, "pin", _PIN_S, 1000)
            message = f"{found['clean_s']:.0f} -> {found['pinned_s']:.0f} jobs/s, {found['jobs']:,} jobs"
            self.report.at_least(
                f"xmin pinned {_PIN_S} s / clean, {engine}", found["pinned_s"] / found["clean_s"], goal, message
            )

    def crowd(self) -> None:
        """Measure with full archives, many delayed jobs, many lock keys and a large tenant."""
        found = asyncio.run(own.measure_claims(self.database(), _DONE, _DELAYED))
        empty, full = quantile(found["empty"], 99), quantile(found["full"], 99)
        medians = (statistics.median(found["empty"]) * 1e3, statistics.median(found["full"]) * 1e3)
        message = f"p99 {empty * 1e3:.1f} -> {full * 1e3:.1f} ms, p50 {medians[0]:.2f} -> {medians[1]:.2f}"
        self.report.at_most(f"claim p99, {_DONE:,} done and {_DELAYED:,} delayed / empty", full / empty, 1.5, message)
        self.report.at_most("worker ready over them, s", found["ready_s"], 1.0)
        rates = asyncio.run(own.measure_lock_keys(self.database(), 10_000, _REPEATS))
        self.report.ratio("10,000 lock keys / none", rates["keys"], rates["none"], 0.85)
        cycles = asyncio.run(own.measure_tenant(self.database(), 100_000))
        self.report.at_most("claims until a tenant behind 100,000 jobs is served", cycles, 2)

    def idle(self) -> None:
        """Measure an idle worker and reaper."""
        self.report.at_most("idle process, queries/s", asyncio.run(own.measure_idle(self.database(), _IDLE_S)), 1.0)


_MEASURES: Final = ("drain", "wake", "enqueue", "recover", "pin", "crowd", "idle")


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "measures", nargs="*", metavar="MEASURE", help=f"some of {', '.join(_MEASURES)}; all by default"
    )
    wanted = parser.parse_args().measures or _MEASURES
    if unknown := set(wanted) - set(_MEASURES):
        parser.error(f"there is no measure {', '.join(sorted(unknown))}")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with running_postgres() as server:
        with psycopg.connect(server.dsn) as connection:
            durable = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "synchronous_commit")]
        print(f"PostgreSQL {server.address}: fsync, synchronous_commit = {durable}; {_REPEATS} repeats\n")
        bench = Bench(server)
        for measure in wanted:
            getattr(bench, measure)()
    print()
    for engine, knobs in bench.knobs.items():
        print(f"{engine}: {knobs}")
    bench.report.finish()


if __name__ == "__main__":
    main()
