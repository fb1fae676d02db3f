"""`make bench-shares`: times of a seller's small loads alone, and during floods of another seller, in one run.

There are two floods at the same time: gzips of many offers, each in a namespace, and links that drip slightly faster
than the lowest rate that the loader allows, each from a different host. Meanwhile the neighbour repeats loads of three
offers, by upload and by link.

"Begin" is the time from the creation of the job to its start in the job tables. "End" is the time that the seller
waits: with the client library, and with `classifeed feed upload`.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import Final

from tests.e2e.site import Site, serve_hosts, serve_site
from tests.e2e.suite import Suite
from tests.e2e.waiting import wait_until
from tools.arguments import parse

from bench.kit.generated_feed import write_feed
from bench.kit.report import Report, Spread, by_name
from bench.kit.running import running_suite, size_of
from classifeed.feeds.v1 import feed_pb2, task_pb2
from classifeed_cli.platform.installation import Installation
from classifeed_client import Client

_ROUNDS: Final = size_of("BENCH_SHARES_ROUNDS", 8)
_HEAVY_FILES: Final = 16
_HEAVY_OFFERS: Final = size_of("BENCH_SHARES_OFFERS", 100_000)
_DRIPS: Final = 12
_DRIP_BYTES_PER_S: Final = 2048
_LIMIT_S: Final = 600.0
_KNOBS: Final = {"CLASSIFEED_FETCH_ALLOW_LOOPBACK": "1"}
_BEGIN_GOAL_S: Final = 5.0
_END_GOAL: Final = 3.0


@dataclass
class Measured:
    """Seconds of the loads of one kind, one value for each round."""

    begins_s: list[float] = field(default_factory=list)
    ends_s: list[float] = field(default_factory=list)
    stages_s: dict[str, list[float]] = field(default_factory=dict)


class Bench:
    """The neighbour and the floods, on one installation."""

    def __init__(self, suite: Suite, client: Client, site: Site, folder: Path) -> None:
        self._suite = suite
        self._client = client
        self._site = site
        self._folder = folder
        self._loads = 0

    def measure(self, uploads: Measured, links: Measured, commands: Measured) -> None:
        """Measure one load of each kind."""
        self._load(commands, "processor", "feed.process", self._command)
        self._load(uploads, "processor", "feed.process", self._upload)
        self._load(links, "loader", "feed.fetch", self._fetch)

    def flood(self, drip_hosts: list[Site]) -> None:
        """Start both floods; return once jobs of both run and offers of the flood are applied."""
        plain = write_feed(self._folder / "heavy.yml", _HEAVY_OFFERS)
        heavy = self._folder / "heavy.yml.gz"
        with plain.open("rb") as source, gzip.open(heavy, "wb", compresslevel=1) as packed:
            shutil.copyfileobj(source, packed)
        for number in range(_HEAVY_FILES):
            self._client.upload_feed(heavy, seller_id="flood", namespace=f"heavy{number}")
        for number, host in enumerate(drip_hosts):
            self._create("flood", f"drip{number}", host.fail("/feed.yml", "drip", _DRIP_BYTES_PER_S))
        for service, queue in (("processor", "feed.process"), ("loader", "feed.fetch")):
            wait_until(partial(self._two_run, service, queue), 120, f"two of {queue} run")
        wait_until(lambda: self.applied() > 0, _LIMIT_S, "offers of the flood are applied")

    def _two_run(self, service: str, queue: str) -> bool:
        return self._running(service, queue) >= 2

    def running(self) -> dict[str, int]:
        """Return the number of running jobs of the flood, by queue."""
        queues = (("processor", "feed.process"), ("loader", "feed.fetch"))
        return {queue: self._running(service, queue) for service, queue in queues}

    def applied(self) -> int:
        """Count offers of the flood that have a reply."""
        sql = (
            "SELECT coalesce(sum(records), 0) FROM offer_batches WHERE seller_id = 'flood' AND answered_at IS NOT NULL"
        )
        return int(self._suite.query("processor", sql)[0][0])

    def _running(self, service: str, queue: str) -> int:
        sql = "SELECT count(*) FROM dl_jobs WHERE queue = %s AND status = 'running' AND args->>'seller_id' = 'flood'"
        return int(self._suite.query(service, sql, queue)[0][0])

    def _load(self, measured: Measured, service: str, queue: str, load: Callable[[str], str]) -> None:
        self._loads += 1
        namespace = f"n{self._loads}"
        began, began_at = time.monotonic(), time.time()
        task = load(namespace)
        ended = self._await_end(task)
        measured.ends_s.append(time.monotonic() - began)
        measured.stages_s.setdefault("made", []).append(ended.create_time.ToDatetime(UTC).timestamp() - began_at)
        measured.stages_s.setdefault("seen", []).append(time.time() - ended.end_time.ToDatetime(UTC).timestamp())
        for stage in ended.statistics.stages:
            measured.stages_s.setdefault(stage.stage, []).append(stage.duration.ToTimedelta().total_seconds())
        sql = (
            "SELECT extract(epoch FROM started_at - created_at)::float8 FROM dl_jobs_all"
            " WHERE queue = %s AND args->>'seller_id' = 'neighbour' AND args->>'namespace' = %s"
        )
        measured.begins_s.append(max(row[0] for row in self._suite.query(service, sql, queue, namespace)))

    def _upload(self, namespace: str) -> str:
        file = write_feed(self._folder / f"{namespace}.yml", 3, prefix=namespace)
        upload = self._client.upload_feed(file, seller_id="neighbour", namespace=namespace)
        return self._client.wait_for_task_name(upload, timeout_s=_LIMIT_S)

    def _command(self, namespace: str) -> str:
        file = write_feed(self._folder / f"{namespace}.yml", 3, prefix=namespace)
        result = self._suite.upload(file, "neighbour", "--namespace", namespace, timeout_s=_LIMIT_S)
        if result.exit_code:
            raise RuntimeError(result.document)
        return str(result.document["name"])

    def _fetch(self, namespace: str) -> str:
        file = write_feed(self._folder / f"{namespace}.yml", 3, prefix=namespace)
        feed = self._create("neighbour", namespace, self._site.put(f"/{namespace}.yml", file.read_bytes()))
        fetch = wait_until(lambda: self._client.list_fetches(feed).fetches, _LIMIT_S, "a fetch", 0.05)[0]
        ended = self._client.wait_for_fetch(fetch, timeout_s=_LIMIT_S)
        if not ended.task:
            raise RuntimeError(f"the fetch made no task: {ended}")
        return ended.task

    def _create(self, seller: str, namespace: str, url: str) -> str:
        settings = feed_pb2.FeedSettings(
            source=feed_pb2.FeedSource(url=url), mode="LOAD_MODE_REPLACE", disposition="DISPOSITION_DELETE"
        )
        settings.schedule.interval.FromSeconds(24 * 3600)
        return self._client.create_feed(seller, namespace, settings).name

    def _await_end(self, name: str) -> task_pb2.Task:
        task = wait_until(lambda: self._ended(name), _LIMIT_S, f"{name} has ended", 0.05)
        if task.status != task_pb2.TASK_STATUS_SUCCEEDED:
            raise RuntimeError(f"the neighbour's load failed: {task}")
        return task

    def _ended(self, name: str) -> task_pb2.Task | None:
        task = self._client.get_task(name)
        return task if task.HasField("end_time") else None


def show(report: Report, kind: str, alone: Measured, beside: Measured) -> None:
    """Report the figures of one kind of load."""
    report.show(f"{kind}, s to the end: alone, during the floods", Spread(alone.ends_s), Spread(beside.ends_s))
    end = Spread(beside.ends_s).median / Spread(alone.ends_s).median
    report.at_most(f"{kind}, end during the floods / alone", end, _END_GOAL)
    report.at_most(f"{kind}, s to its start, worst", max(beside.begins_s), _BEGIN_GOAL_S)
    for name, measured in (("alone", alone), ("during the floods", beside)):
        stages = {stage: Spread(found).median for stage, found in measured.stages_s.items()}
        report.show(f"  s of its stages, {name}", by_name(stages))


def main() -> int:
    """Measure and report; return 1 if a goal is missed."""
    parse(__doc__)
    report = Report("shares", rounds=_ROUNDS, heavy_offers=_HEAVY_OFFERS)
    kinds = {kind: (Measured(), Measured()) for kind in ("upload", "link", "command")}
    with (
        running_suite(_KNOBS) as (suite, folder),
        serve_site() as site,
        serve_hosts(_DRIPS) as drips,
        Installation.find(suite.data).client() as client,
    ):
        bench = Bench(suite, client, site, folder)
        bench.measure(Measured(), Measured(), Measured())  # the first load pays for connections and imports
        for _ in range(_ROUNDS):
            bench.measure(*(alone for alone, _ in kinds.values()))
        bench.flood(drips)
        before, applied, began = bench.running(), bench.applied(), time.monotonic()
        for _ in range(_ROUNDS):
            bench.measure(*(beside for _, beside in kinds.values()))
        after, rate = bench.running(), (bench.applied() - applied) / (time.monotonic() - began)
    print(f"\n3 offers during {_HEAVY_FILES} gzips of {_HEAVY_OFFERS:,} offers and {_DRIPS} dripping links of another")
    report.show("jobs of the floods that ran: at first, at last", by_name(before), by_name(after))
    report.show("offers/s of the floods meanwhile", rate)
    for kind, measured in kinds.items():
        show(report, kind, *measured)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
