"""`make bench-freshness`: from the last byte of a feed of 1,000 offers to the search that finds all of them.

One run measures two sides: every offer changed, and 1 in 100 changed. The loader records when the last byte came. The
bench repeats the search until it returns every changed offer. Both use the clock of the machine.
"""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Final

from tests.e2e.site import Site, serve_site
from tests.e2e.suite import Suite
from tools.arguments import parse

from bench.kit.generated_feed import write_feed
from bench.kit.report import Report, quantile
from bench.kit.running import running_suite, size_of
from classifeed.search.v1 import search_service_pb2
from classifeed_cli.platform.installation import Installation
from classifeed_client import Client

_OFFERS: Final = 1_000
_ROUNDS: Final = size_of("BENCH_FRESHNESS_ROUNDS", 100)
_LOOK_S: Final = 0.02
_LIMIT_S: Final = 60.0
_KNOBS: Final = {"CLASSIFEED_FETCH_ALLOW_LOOPBACK": "1"}


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
    """Measure and report."""
    parse(__doc__)
    waits: dict[int, list[float]] = {100: [], 1: []}
    with (
        running_suite(_KNOBS) as (suite, folder),
        serve_site() as site,
        Installation.find(suite.data).client() as client,
    ):
        bench = Bench(suite, site, client, folder)
        bench.add()
        for _ in range(_ROUNDS):
            for share, found in waits.items():
                found.append(bench.change(share))
    report = Report("freshness", offers=_OFFERS, rounds=_ROUNDS)
    report.table(
        "Seconds from the end of the download until searchable",
        ["p50", "p90", "p99", "worst"],
        {
            f"{share} % changed": [*(quantile(found, percent) for percent in (50, 90, 99)), max(found)]
            for share, found in waits.items()
        },
    )
    report.finish()


if __name__ == "__main__":
    main()
