"""`make bench-feeds`: reading compared with bare lxml, then loads from upload to search at two sizes.

`python -m bench.feeds --pictures` measures a load with pictures, `--smoke` the size that CI measures.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from tools.arguments import parse

from bench.feeds.pictures import DIVISOR, HOSTS, KNOBS, OFFERS, measure_pictures
from bench.feeds.smoke import measure_smoke
from bench.feeds.whole_way import Load, measure_load
from bench.kit.generated_feed import WARNINGS, write_feed
from bench.kit.report import Report, Spread, by_name, ratios
from bench.kit.running import measure_in_process, running_suite, scratch, size_of
from bench.pictures.hosts import hosts

_SIZES: Final = tuple(int(size) for size in os.environ.get("BENCH_FEEDS_SIZES", "10000,200000").split(","))
_FLAWED: Final = 20_000
_REPEATS: Final = size_of("BENCH_REPEATS", 5)


def measure_reading(report: Report, file: Path) -> None:
    """Measure the sides in turn, so that a drift of the machine's speed affects all of them."""
    runs: dict[str, list[dict[str, Any]]] = {"ours": [], "lxml": [], "bare": []}
    for _ in range(_REPEATS):
        for side, found in runs.items():
            found.append(measure_in_process("bench.feeds.reading", side, file))
    megabytes, offers = file.stat().st_size / 1e6, runs["ours"][0]["offers"]
    rows = {
        side: (
            Spread([megabytes / run["seconds"] for run in found]),
            Spread([run["offers"] / run["seconds"] for run in found]),
            Spread([run["cpu_s"] / run["offers"] * 1e6 for run in found]),
            max(run["rss_mb"] for run in found),
        )
        for side, found in runs.items()
    }
    title = f"Reading {file.name}: {megabytes:.0f} MB, {offers:,} offers"
    report.table(title, ["MB/s", "offers/s", "CPU µs/offer", "RSS MB"], rows)
    lxml_s, ours_s = ([run["seconds"] for run in runs[side]] for side in ("lxml", "ours"))
    report.show(f"{file.name}, ratio to lxml with the XSD", ratios(lxml_s, ours_s))


def show_load(report: Report, name: str, load: Load) -> None:
    """Report the figures of a load."""
    report.show(f"{name}: offers/s to the result", load.rate)
    report.show("  time until searchable / to the result", load.drained_s / load.task_s)
    report.show("  CPU µs/offer of all services", sum(load.cpu_us.values()), by_name(load.cpu_us))
    report.show("  CPU µs/offer of servers", by_name(load.server_us))
    report.show("  peak MB", by_name(load.rss_mb))


def show_smoke() -> None:
    """Measure and report the smallest size."""
    with running_suite() as (suite, folder):
        smoke = measure_smoke(suite, folder, "smoke")
    print(smoke)
    report = Report("feeds-smoke")
    report.show("CPU of a new offer / bare lxml", smoke.ratio)
    report.show("  committed", smoke.committed)
    report.finish()


def show_pictures() -> None:
    """Measure and report a load with pictures."""
    offers = size_of("BENCH_FEEDS_OFFERS", OFFERS)
    report = Report("feeds-pictures", offers=offers)
    with running_suite(KNOBS) as (suite, folder), hosts(HOSTS, divisor=DIVISOR) as running:
        measure_pictures(suite, running, folder, offers, report)
    report.finish()


def show_feeds() -> None:
    """Measure and report reading, then whole loads."""
    report = Report("feeds", repeats=_REPEATS)
    with scratch() as folder:
        files = {size: write_feed(folder / f"{size}.yml", size) for size in _SIZES}
        for file in files.values():
            measure_reading(report, file)
        print(f"\n{WARNINGS} warnings in each offer:")
        measure_reading(report, write_feed(folder / "flawed.yml", _FLAWED, flawed=True))
        print("\nThe whole way: api, S3, processor, Kafka, offers, PostgreSQL, Kafka, receiver, indexer, searcher")
        with running_suite() as (suite, _):
            for size, file in files.items():
                for kind, expected in (("new", "added"), ("unchanged", "unchanged")):
                    load = measure_load(suite, file, f"bench{size}", expected)
                    show_load(report, f"{size:,} {kind}", load)
    report.finish()


def main() -> None:
    """Measure and report."""
    arguments = parse(__doc__, smoke="run in a few seconds, for tests", pictures="measure a load with pictures")
    if arguments.smoke:
        show_smoke()
    elif arguments.pictures:
        show_pictures()
    else:
        show_feeds()


if __name__ == "__main__":
    main()
