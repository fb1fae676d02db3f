"""`make bench-feeds`: reading compared with bare lxml, then loads from upload to search at two sizes.

`python -m bench.feeds --pictures` measures a load with pictures, `--smoke` the size that CI measures.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.suite import Suite
from tools.arguments import parse

from bench.feeds.pictures import DIVISOR, HOSTS, KNOBS, OFFERS, measure_pictures
from bench.feeds.smoke import measure_smoke
from bench.feeds.whole_way import Load, measure_load
from bench.generated_feed import WARNINGS, write_feed
from bench.pictures.hosts import hosts

_SIZES = tuple(int(size) for size in os.environ.get("BENCH_FEEDS_SIZES", "10000,200000").split(","))
_FLAWED = 20_000
_REPEATS = int(os.environ.get("BENCH_REPEATS", "5"))


def measure_reading(file: Path) -> dict[str, list[dict[str, Any]]]:
    """Measure the sides in turn, so that a drift of the machine's speed affects all of them."""
    rows: dict[str, list[dict[str, Any]]] = {"ours": [], "lxml": [], "bare": []}
    for _ in range(_REPEATS):
        for side, found in rows.items():
            command = [sys.executable, "-m", "bench.feeds.reading", side, str(file)]
            found.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return rows


def show_reading(file: Path, rows: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Print the table of a file and return its figures."""
    megabytes = file.stat().st_size / 1e6
    print(f"\nReading {file.name}: {megabytes:.0f} MB, {rows['ours'][0]['offers']} offers, {_REPEATS} repeats")
    print(f"{'side':<6} {'MB/s':>7} {'offers/s':>9} {'min–max':>15} {'CPU µs/offer':>13} {'RSS MB':>7}")
    figures: dict[str, Any] = {}
    for side, runs in rows.items():
        rates = sorted(run["offers"] / run["seconds"] for run in runs)
        median = statistics.median(rates)
        cpu = statistics.median(run["cpu_s"] / run["offers"] * 1e6 for run in runs)
        rss = max(run["rss_mb"] for run in runs)
        rate_mb = median * megabytes / runs[0]["offers"]
        print(f"{side:<6} {rate_mb:>7.1f} {median:>9.0f} {rates[0]:>7.0f}–{rates[-1]:<7.0f} {cpu:>13.1f} {rss:>7.0f}")
        figures[side] = {"offers_s": round(median), "cpu_us": round(cpu, 1), "rss_mb": round(rss)}
    ratios = [b["seconds"] / a["seconds"] for a, b in zip(rows["ours"], rows["lxml"], strict=True)]
    figures["ratio_to_lxml_xsd"] = round(statistics.median(ratios), 3)
    print(f"ratio to lxml with the XSD: {figures['ratio_to_lxml_xsd']} ({min(ratios):.3f}–{max(ratios):.3f})")
    return figures


def show_load(name: str, load: Load) -> dict[str, Any]:
    """Print the lines of a load and return its figures."""
    cpu = "  ".join(f"{service} {value:.0f}" for service, value in load.cpu_us.items())
    memory = "  ".join(f"{service} {value:.0f}" for service, value in load.rss_mb.items())
    drained = load.drained_s / load.task_s
    print(f"{name:<22} {load.rate:>8.0f} offers/s to the result, {drained:>5.2f} × that until searchable")
    servers = "  ".join(f"{server} {value:.0f}" for server, value in load.server_us.items())
    print(f"{'':<22} CPU µs/offer: {cpu}; all {sum(load.cpu_us.values()):.0f}")
    print(f"{'':<22} servers:      {servers}")
    print(f"{'':<22} peak MB:      {memory}")
    return {
        "offers_s": round(load.rate),
        "drain_ratio": round(load.drained_s / load.task_s, 2),
        "cpu_us": {service: round(value, 1) for service, value in load.cpu_us.items()},
        "server_us": {server: round(value, 1) for server, value in load.server_us.items()},
        "rss_mb": {service: round(value) for service, value in load.rss_mb.items()},
    }


@contextmanager
def _suite(knobs: dict[str, str] | None = None) -> Iterator[tuple[Suite, Path]]:
    """Yield a suite that is not started yet and a folder for its files; both are removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="cf-bench-"))
    suite = Suite(folder / "suite", knobs)
    try:
        yield suite, folder
    finally:
        suite.down()
        shutil.rmtree(folder, ignore_errors=True)


def show_smoke() -> None:
    """Measure and print the smallest size."""
    with _suite() as (suite, folder):
        suite.up()
        smoke = measure_smoke(suite, folder, "smoke")
    print(smoke)
    print(json.dumps({"bench": "feeds-smoke", "ratio": round(smoke.ratio, 1), "committed": smoke.committed}))


def show_pictures() -> None:
    """Measure and print a load with pictures."""
    offers = int(os.environ.get("BENCH_FEEDS_OFFERS", OFFERS))
    with _suite(KNOBS) as (suite, folder), hosts(HOSTS, divisor=DIVISOR) as running:
        suite.up()
        figures = measure_pictures(suite, running, folder, offers)
    print(json.dumps({"bench": "feeds-pictures", **figures}))


def main() -> None:
    """Measure and print."""
    arguments = parse(__doc__, smoke="run in a few seconds, for tests", pictures="measure a load with pictures")
    if arguments.smoke:
        show_smoke()
        return
    if arguments.pictures:
        show_pictures()
        return
    result: dict[str, Any] = {"bench": "feeds", "reading": {}, "whole_way": {}}
    with _suite() as (suite, folder):
        files = {size: write_feed(folder / f"{size}.yml", size) for size in _SIZES}
        for size, file in files.items():
            result["reading"][size] = show_reading(file, measure_reading(file))
        flawed = write_feed(folder / "flawed.yml", _FLAWED, flawed=True)
        print(f"\n{WARNINGS} warnings in each offer:")
        result["reading"]["flawed"] = show_reading(flawed, measure_reading(flawed))
        suite.up()
        print(
            "\nThe whole way: api, S3, processor, Kafka, offers, PostgreSQL, Kafka, receiver, indexer, Kafka, searcher"
        )
        for size, file in files.items():
            seller = f"bench{size}"
            changed = show_load(f"{size} new", measure_load(suite, file, seller, "added"))
            same = show_load(f"{size} unchanged", measure_load(suite, file, seller, "unchanged"))
            result["whole_way"][size] = {"new": changed, "unchanged": same}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
