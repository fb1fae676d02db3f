"""`make bench-freshness`: from the last byte of a feed of 1,000 offers to the search that finds all of them.

One run measures two sides: every offer changed, and 1 in 100 changed. The loader records when the last byte came. The
bench repeats the search until it returns every changed offer. Both use the clock of the machine.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
import time
from datetime import datetime
from pathlib import Path

from tests.e2e.site import Site, serve_site
from tests.e2e.suite import Suite
from tools.arguments import parse

from bench.generated_feed import write_feed
from classifeed.search.v1 import search_service_pb2
from classifeed_cli.platform.installation import Installation
from classifeed_client import Client

_OFFERS = 1_000
_ROUNDS = int(os.environ.get("BENCH_FRESHNESS_ROUNDS", "100"))
_LOOK_S = 0.02
_LIMIT_S = 60.0
_KNOBS = {"CLASSIFEED_FETCH_ALLOW_LOOPBACK": "1"}


class Bench:
    """One feed by link that changes with each round."""

    def __init__(self, suite: Suite, site: Site, client: Client, folder: Path) -> None:
        self._suite = suite
        self._site = site
        self._client = client
        self._folder = folder
        self._revisions = [100] * 100  # high, so that no change of a price reaches the factor of the price guard

    def add(self) -> None:
        """Create the feed and wait for its first load."""
        result = self._suite.run("feed", "add", self._publish(), "--seller", "fresh", "--every", "1d")
        if result.exit_code:
            raise RuntimeError(result.document)
        self._suite.settle()

    def change(self, share: int) -> float:
        """Change the first `share` of each 100 offers; return the seconds until a search finds all changes."""
        newest = max(self._revisions) + 1
        self._revisions[:share] = [newest] * share
        self._publish()
        expected = _OFFERS * share // 100
        result = self._suite.run("feed", "run", "--seller", "fresh", "--no-wait")
        if result.exit_code:
            raise RuntimeError(result.document)
        found_at = self._await_found(newest, expected)
        fetches = self._suite.run("feed", "fetches", "--seller", "fresh", "--limit", "1").document["fetches"]
        return found_at - datetime.fromisoformat(fetches[0]["download_time"]).timestamp()

    def _publish(self) -> str:
        file = write_feed(self._folder / "feed.yml", _OFFERS, prefix="F", revisions=self._prices())
        return self._site.put("/feed.yml", file.read_bytes())

    def _prices(self) -> list[int]:
        return [revision * 10_000 for revision in self._revisions]

    def _await_found(self, revision: int, expected: int) -> float:
        low = revision * 10_000
        request = search_service_pb2.SearchRequest(
            client="offers", conditions=[f"price:[{low} TO {low + 9_999}]"], page_size=1
        )
        request.filters.add(field="seller").terms.values.add(string_value="fresh")
        ends_at = time.time() + _LIMIT_S
        while time.time() < ends_at:
            if self._client.search(request).total == expected:
                return time.time()
            time.sleep(_LOOK_S)
        raise RuntimeError(f"revision {revision} was not found within {_LIMIT_S:g} s")


def main() -> None:
    """Measure and print."""
    parse(__doc__)
    folder = Path(tempfile.mkdtemp(prefix="cf-bench-"))
    suite = Suite(folder / "suite", _KNOBS)
    waits: dict[int, list[float]] = {100: [], 1: []}
    try:
        suite.up()
        with serve_site() as site, Installation.find(folder / "suite").client() as client:
            bench = Bench(suite, site, client, folder)
            bench.add()
            for _ in range(_ROUNDS):
                for share, found in waits.items():
                    found.append(bench.change(share))
    finally:
        suite.down()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\nEnd of the download to searchable, a feed of {_OFFERS:,} offers, {_ROUNDS} rounds of each")
    print(f"{'changed':>8} {'p50 s':>7} {'p90 s':>7} {'p99 s':>7} {'worst s':>8}")
    result = {}
    for share, found in waits.items():
        ordered = sorted(found)
        cuts = statistics.quantiles(ordered, n=100, method="inclusive")
        row = {"p50": cuts[49], "p90": cuts[89], "p99": cuts[98], "worst": ordered[-1]}
        print(f"{share:>7}% {row['p50']:>7.2f} {row['p90']:>7.2f} {row['p99']:>7.2f} {row['worst']:>8.2f}")
        result[f"{share}%"] = {name: round(value, 3) for name, value in row.items()}
    print(json.dumps({"bench": "freshness", "offers": _OFFERS, "rounds": _ROUNDS, "seconds": result}))


if __name__ == "__main__":
    main()
