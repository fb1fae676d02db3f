"""`python -m bench.pictures.similar`: near-duplicates among a million stored pictures, compared with a full scan.

BENCH_SIMILAR_PICTURES sets the number of pictures, BENCH_SIMILAR_QUERIES the number of searches.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import psycopg
from tools.arguments import parse

from bench.kit.report import Report, by_name, quantile
from bench.kit.running import running_postgres, size_of
from classifeed.pictures.v1.picture_pb2 import PictureInfo
from classifeed_common.db import Database
from classifeed_common.db.migrations import migrate
from classifeed_pictures.domain.similarity import DEFAULT_DISTANCE, HASH_BYTES, MAX_DISTANCE, is_plain, similarity_key
from classifeed_pictures.store.states.similar import Likeness, list_similar

_PICTURES: Final = size_of("BENCH_SIMILAR_PICTURES", 1_000_000)
_QUERIES: Final = size_of("BENCH_SIMILAR_QUERIES", 1_000)
_SCANS: Final = 30
_SHARE_OF_COPIES: Final = 0.25
_PLACEHOLDERS: Final = 5000  # copies of one placeholder picture
_PAGE: Final = 100
_OF_SELLER: Final = 1000
_SEED: Final = 20261125
_SCHEMA: Final = "pictures"
_SCAN: Final = """
SELECT namespace, group_id, name, info, bit_count((similarity_key # %(key)s::bigint)::bit(64)) AS distance
FROM stored_pictures
WHERE bit_count((similarity_key # %(key)s::bigint)::bit(64)) <= %(distance)s AND url_hash <> %(url_hash)s
ORDER BY distance, namespace, group_id, name
LIMIT 100
"""
Search = Callable[[Likeness], Awaitable[int]]


def make_hashes(count: int, source: random.Random) -> list[bytes]:
    """Return hashes: most are unique, a quarter have 2 to 30 copies, and _PLACEHOLDERS are of one placeholder."""
    placeholder = source.getrandbits(64)
    hashes = [placeholder] * min(_PLACEHOLDERS, count // 100)
    copies = len(hashes) + int(count * _SHARE_OF_COPIES)
    while len(hashes) < copies:
        motif = source.getrandbits(64)
        hashes += (_changed(motif, source) for _ in range(source.randint(2, 30)))
    del hashes[copies:]
    hashes += (source.getrandbits(64) for _ in range(count - len(hashes)))
    source.shuffle(hashes)
    return [each.to_bytes(HASH_BYTES, "big") for each in hashes]


def _changed(motif: int, source: random.Random) -> int:
    for bit in source.sample(range(64), source.randint(0, DEFAULT_DISTANCE // 2)):
        motif ^= 1 << bit
    return motif


def fill(dsn: str, hashes: list[bytes]) -> float:
    """Store a row for each hash, as large as that of a picture with three sizes, and return the seconds."""
    began = time.perf_counter()
    sizes = json.dumps([{"blob": "0" * 64, "sha256": "0" * 64, "rule": {"name": "small"}}] * 6)
    with psycopg.connect(dsn, autocommit=True, options=f"-c search_path={_SCHEMA}") as connection:
        with connection.cursor().copy(
            "COPY stored_pictures (namespace, group_id, name, url_hash, attempt, content_hash, size_bytes, total_bytes,"
            " info, pieces, similarity_key) FROM STDIN"
        ) as copy:
            for row in _rows(hashes, sizes):
                copy.write_row(row)
        connection.execute("VACUUM ANALYZE stored_pictures")
    return time.perf_counter() - began


def _rows(hashes: list[bytes], sizes: str) -> Iterator[tuple[Any, ...]]:
    for number, hashed in enumerate(hashes):
        info = PictureInfo(namespace="offers", name=f"{number:032x}", perceptual_hash=hashed, blurhash="L" * 28)
        row = info.SerializeToString()
        url_hash = _url_hash(number)
        yield "offers", number % 1024, info.name, url_hash, 1, bytes(32), 1, 1, row, sizes, similarity_key(hashed)


def _url_hash(number: int) -> bytes:
    return number.to_bytes(16, "big")


async def timed(search: Search, sought: list[Likeness]) -> tuple[list[float], float]:
    """Return the milliseconds of the searches, and the mean number of pictures found."""
    times, found = [], []
    for each in sought:
        began = time.perf_counter()
        found.append(await search(each))
        times.append((time.perf_counter() - began) * 1000)
    return times, statistics.mean(found)


async def measure(dsn: str, hashes: list[bytes], source: random.Random) -> dict[str, tuple[float, float, float]]:
    """Run one search after another in one process; return p50 and p99 in milliseconds, and pictures found."""
    database = Database(dsn, schema=_SCHEMA, application_name="bench")
    await database.open()

    async def by_pieces(sought: Likeness) -> int:
        async with database.transaction() as tx:
            return len(await list_similar(tx, sought, limit=_PAGE))

    async def by_scan(sought: Likeness) -> int:
        parameters = {"key": sought.key, "distance": sought.distance, "url_hash": sought.url_hash}
        async with database.transaction() as tx:
            return len(await (await tx.execute(_SCAN, parameters)).fetchall())

    def choose(count: int, distance: int, among: int = 0) -> list[Likeness]:
        numbers = source.sample([n for n, each in enumerate(hashes) if not is_plain(similarity_key(each))], count)
        urls = [_url_hash(source.randrange(len(hashes))) for _ in range(among)] or None
        return [Likeness(similarity_key(hashes[n]), _url_hash(n), distance, among=urls) for n in numbers]

    first = choose(_QUERIES, DEFAULT_DISTANCE)
    [(placeholder, _)] = Counter(hashes).most_common(1)
    sides = {
        f"distance {DEFAULT_DISTANCE}": (by_pieces, first),
        f"distance {MAX_DISTANCE}": (by_pieces, choose(_QUERIES, MAX_DISTANCE)),
        f"{_OF_SELLER} URLs of a seller": (by_pieces, choose(_QUERIES // 2, DEFAULT_DISTANCE, _OF_SELLER)),
        "one with thousands of copies": (
            by_pieces,
            [Likeness(similarity_key(placeholder), bytes(16), DEFAULT_DISTANCE)] * 30,
        ),
        "full scan": (by_scan, first[:_SCANS]),
    }
    figures: dict[str, tuple[float, float, float]] = {}
    for name, (search, sought) in sides.items():
        await timed(search, sought[:5])
        times, found = await timed(search, sought)
        figures[name] = statistics.median(times), quantile(times, 99), found
    await database.close()
    return figures


def sizes_mb(dsn: str) -> dict[str, float]:
    """Return the sizes of the table and of the indexes of pieces, in MB."""
    with psycopg.connect(dsn, options=f"-c search_path={_SCHEMA}") as connection:
        rows = connection.execute(
            "SELECT relkind = 'r', sum(pg_relation_size(oid)) FROM pg_class "
            "WHERE relname = 'stored_pictures' OR relname LIKE 'stored_pictures_piece_%' GROUP BY 1"
        ).fetchall()
    return {"table" if is_table else "pieces": float(size) / 1e6 for is_table, size in rows}


def main() -> None:
    """Measure and report."""
    parse(__doc__)
    source = random.Random(_SEED)
    report = Report("pictures.similar", pictures=_PICTURES)
    with running_postgres() as server:
        migrate("classifeed_pictures", server.dsn, _SCHEMA)
        hashes = make_hashes(_PICTURES, source)
        report.show("seconds to store the pictures", fill(server.dsn, hashes))
        report.show("MB", by_name(sizes_mb(server.dsn)))
        print(f"load {os.getloadavg()[0]:.1f}")
        figures = asyncio.run(measure(server.dsn, hashes, source))
    report.table("ms/search", ["p50", "p99", "found"], figures)
    report.finish()


if __name__ == "__main__":
    main()
