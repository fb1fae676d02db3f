"""`make bench-jobs`: the job engine compared with other engines on one durable PostgreSQL, then its own promises.

BENCH_REPEATS (5), BENCH_PIN_S (60), BENCH_DONE (1,000,000) and BENCH_DELAYED (100,000) make a run longer or shorter.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any, Final

import psycopg
import structlog
from tools.arguments import parser_of

from bench.jobs import own, recovery
from bench.jobs.report import Report, shown
from classifeed_common.embedded.postgres import EmbeddedPostgres

_REPEATS = int(os.environ.get("BENCH_REPEATS", "5"))
_PIN_S = int(os.environ.get("BENCH_PIN_S", "60"))
_DONE = int(os.environ.get("BENCH_DONE", "1000000"))
_DELAYED = int(os.environ.get("BENCH_DELAYED", "100000"))
_JOBS = {1000: 100_000, 100: 50_000, 10: 20_000}  # enough that start and stop of a worker do not matter
_PROCRASTINATE_JOBS = 1_000
_WAKES = 150
_IDLE_S = 30.0
_RESTART_JOBS = 300_000  # more than both windows take, so that the queue never runs empty


class Bench:
    """One server; each measurement gets a new database, which the next one drops."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.server = server
        self.report = Report()
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
        command = [sys.executable, "-m", "bench.jobs.side", engine, measure, self.database(), str(jobs), str(batch)]
        ran = subprocess.run(command, check=False, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(f"{engine} {measure}: {ran.stderr[-2000:]}")
        sys.stderr.write(ran.stderr)
        found: dict[str, Any] = json.loads(ran.stdout)
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
            cpu = statistics.median(run["cpu_us"] for run in runs[engine, batch])
            self.report.show(
                f"drain, {engine}" + (f", batch {batch}" if batch else ""), f"{shown(jobs_s)} jobs/s, {cpu:.0f} µs CPU"
            )
        for engine, batch, goal in (("pgqueuer", 1000, 2), ("pgqueuer", 10, 3), ("raw", 1000, 0.5)):
            self.report.ratio(f"drain, batch {batch}, to {engine}", rates["ours", batch], rates[engine, batch], goal)
        self.report.ratio("drain to procrastinate", rates["ours", 1000], rates["procrastinate", 0], 20)
        self.report.ratio("drain, batch 100, to raw", rates["ours", 100], rates["raw", 100], None)

    def wake(self) -> None:
        """Measure from the response to the enqueueing commit until the handler runs, on an idle worker."""
        for engine in ("ours", "pgqueuer"):
            found = self.side(engine, "wake", _WAKES, 1)
            waits, commits = found["waits"], found["commits"]
            commit = statistics.median(commits)
            for name, value, goal in (("p50", statistics.median(waits), 1.5), ("p99", own.p99(waits), 4.0)):
                message = f"{value * 1e3:.2f} ms; one commit p50 {commit * 1e3:.2f}, p99 {own.p99(commits) * 1e3:.2f}"
                self.report.at_most(
                    f"wake {name} / commit, {engine}", value / commit, goal if engine == "ours" else None, message
                )

    def enqueue(self) -> None:
        """Measure how notifying the workers slows producers down."""
        rates = asyncio.run(own.measure_enqueue(self.database(), _REPEATS))
        self.report.ratio("enqueue with the notifier / without notification", rates["notifier"], rates["nobody"], 0.8)
        self.report.ratio("enqueue with the trigger / without notification", rates["trigger"], rates["nobody"], None)

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
        empty, full = own.p99(found["empty"]), own.p99(found["full"])
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
    folder = Path(tempfile.mkdtemp(prefix="cf-bench-"))
    server = EmbeddedPostgres(folder / "postgres", password="bench")
    server.start()
    try:
        with psycopg.connect(server.dsn) as connection:
            durable = [connection.execute(f"SHOW {name}").fetchone() for name in ("fsync", "synchronous_commit")]
        print(f"PostgreSQL {server.address}: fsync, synchronous_commit = {durable}; {_REPEATS} repeats\n")
        bench = Bench(server)
        for measure in wanted:
            getattr(bench, measure)()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print()
    for engine, knobs in bench.knobs.items():
        print(f"{engine}: {knobs}")
    print(json.dumps({"bench": "jobs", "repeats": _REPEATS, "rows": bench.report.rows}))


if __name__ == "__main__":
    main()
