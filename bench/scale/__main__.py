"""`make bench-scale`: each role with one, two and four processes, and bytes of an offer on disk."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from itertools import count as counter
from typing import Any, Final, cast

from tools.arguments import parse

from bench.scale.backlog import Backlog, Sizes
from bench.scale.disk import table_bytes, topic_bytes
from bench.scale.indexing import deliver, index, index_bytes, receive
from bench.scale.installation import Installation, installation
from bench.scale.measuring import Span
from bench.scale.report import show_role, show_sizes
from bench.scale.roles import apply_batches, grow_requests, process_feeds, publish
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, index_documents

Role = Callable[[Installation, Backlog, int, int], Span]
_ROLES: Final[dict[str, Role]] = {
    "processor, unchanged feeds": process_feeds,
    "offers, publish": publish,
    "receiver, 8 pushers": receive,
    "indexer": deliver,
    "sink, a group of shards each": index,
}


def measure(
    running: Installation, backlog: Backlog, role: Role, counts: Sequence[int], rounds: int, revisions: Any
) -> dict[int, list[Span]]:
    """Measure a role with each number of processes, in ascending and descending order by turns."""
    spans: dict[int, list[Span]] = {count: [] for count in counts}
    for number in range(rounds):
        for count in counts if number % 2 == 0 else reversed(counts):
            spans[count].append(role(running, backlog, count, next(revisions)))
    return spans


def main() -> None:
    """Measure and print."""
    cast(io.TextIOWrapper, sys.stdout).reconfigure(line_buffering=True)
    arguments = parse(__doc__, smoke="a small backlog, one round of one and two processes")
    sizes = Sizes(8, 100) if arguments.smoke else Sizes(32, int(os.environ.get("BENCH_SCALE_OFFERS_EACH", "500")))
    counts, rounds = ((1, 2), 1) if arguments.smoke else ((1, 2, 4), int(os.environ.get("BENCH_SCALE_ROUNDS", "2")))
    revisions = counter(1)
    result: dict[str, Any] = {"bench": "scale", "offers": sizes.offers}
    with installation() as running:
        backlog = Backlog(running.folder, sizes)
        print(f"{sizes.offers:,} offers of {sizes.sellers} sellers, {rounds} rounds")
        new = apply_batches(running, backlog, 1, next(revisions))
        result["offers, new"] = show_role("offers, apply, new offers", {1: [new]})
        for partitions in (8, 32):
            grow_requests(running, partitions)
            name = f"offers, apply, changed, {partitions} partitions"
            result[name] = show_role(name, measure(running, backlog, apply_batches, counts, rounds, revisions))
        process_feeds(running, backlog, 1, next(revisions))  # from now on its files change nothing
        for name, role in _ROLES.items():
            result[name] = show_role(name, measure(running, backlog, role, counts, rounds, revisions))
        loads = 1 + 2 * len(counts) * rounds + 1 + len(counts) * rounds
        result["bytes"] = show_sizes({
            **dict(table_bytes(running)),
            f"topic {FEEDS_OFFER_REQUESTS}": topic_bytes(running, FEEDS_OFFER_REQUESTS, loads * sizes.offers),
            "topic of the index": topic_bytes(running, index_documents("scale*"), len(counts) * rounds * sizes.offers),
            "index of the search": index_bytes(running) / sizes.offers,
        })  # fmt: skip
    print(json.dumps(result))


if __name__ == "__main__":
    main()
