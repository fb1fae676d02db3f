"""One instance of moderation on real PostgreSQL and Kafka, with a verdict service of the bench."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO, cast

import psycopg
from tests.e2e.suite import Suite

from bench.kit.running import running_suite

VERDICT_MS: Final = 200
_ADD_TEXTS: Final = """
INSERT INTO subjects (subject_key, kind, text, text_hash, cache_key, region_ids, seller_id, namespace, external_id,
                      status, next_retry)
SELECT 'offer/bench/' || %(batch)s || '/' || n, 'OFFER', %(batch)s || ' bench of oak, number ' || n,
       decode(md5(%(batch)s || n), 'hex'), decode(md5(%(batch)s || n), 'hex'), '{225}', 'bench', %(batch)s, n::text,
       'PENDING', clock_timestamp() + %(due_s)s * interval '1 second'
FROM generate_series(1, %(count)s) AS n
"""


class VerdictService:
    """The stand-in in its own process, so that its CPU does not count as moderation's."""

    def __init__(self, delay_ms: int) -> None:
        command = [sys.executable, "-m", "bench.moderation.stand_in", str(delay_ms)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._output = cast(TextIO, self._process.stdout)
        self._input = cast(TextIO, self._process.stdin)
        self.url = f"http://127.0.0.1:{int(self._output.readline())}"

    def become(self, state: str) -> None:
        """Set its state: `verdicts`, `people` or `away`."""
        self._input.write(f"{state}\n")
        self._input.flush()
        self._output.readline()

    def stop(self) -> None:
        """End the process."""
        self._input.close()
        self._process.wait()


class Instance:
    """A running moderation."""

    def __init__(self, suite: Suite, verdicts: VerdictService) -> None:
        self.suite = suite
        self.verdicts = verdicts
        status = suite.status()
        self.grpc = str(status["services"]["moderation"]["grpc"])
        self.http = str(status["services"]["moderation"]["http"])
        self.keys = suite.data / "keys"
        self._connection = psycopg.connect(
            status["postgres"]["moderation"], options="-c search_path=moderation", autocommit=True
        )

    def close(self) -> None:
        """Close the connection to the database."""
        self._connection.close()

    def add_texts(self, batch: str, count: int, *, due_s: float = 0) -> None:
        """Store pending texts of offers that are due in `due_s` seconds."""
        self._connection.execute(_ADD_TEXTS, {"batch": batch, "count": count, "due_s": due_s})
        self._connection.execute("ANALYZE subjects")

    def count(self, condition: str) -> int:
        """Return how many texts meet a condition."""
        row = self._connection.execute(f"SELECT count(*) FROM subjects WHERE {condition}").fetchone()
        assert row is not None
        return int(row[0])

    def waiting(self) -> int:
        """Return how many texts wait for a verdict."""
        return self.count("status = 'PENDING'")

    def forget(self) -> None:
        """Remove the pending texts."""
        self._connection.execute("DELETE FROM subjects WHERE status = 'PENDING'")

    def until(self, condition: Callable[[], bool], limit_s: float = 600) -> None:
        """Wait for a condition.

        Raises:
            RuntimeError: the condition is not true within `limit_s`.
        """
        ends_at = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > ends_at:
                raise RuntimeError(f"not within {limit_s} s; {self.waiting()} texts wait")
            time.sleep(0.02)


@contextmanager
def running(**settings: object) -> Iterator[Instance]:
    """Yield an instance with settings of CLASSIFEED_MODERATION_…, and remove it afterwards."""
    verdicts = VerdictService(VERDICT_MS)
    given = {"VERDICT_URL": verdicts.url, "VERDICT_ENVIRONMENT": "stable", "VERDICT_BATCH": 1, **settings}
    knobs = {f"CLASSIFEED_MODERATION_{name}": str(value) for name, value in given.items()}
    try:
        with running_suite(knobs, only=["moderation"]) as (suite, _):
            instance = Instance(suite, verdicts)
            try:
                yield instance
            finally:
                instance.close()
    finally:
        verdicts.stop()
