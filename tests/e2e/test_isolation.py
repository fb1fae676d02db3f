"""Unreadable records and a blocked partition do not affect the loads of other sellers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from bench.kit.generated_feed import offer_ids, write_feed
from confluent_kafka import Message, Producer

from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns
from classifeed_devkit.testing.recovery import Stopwatch
from tests.e2e.suite import Suite
from tests.e2e.topic import BATCH, TOPIC

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(3000)]
_OFFERS = 2_000 if IS_LONG else 400
_SELLERS = 6
_LARGE_BYTES = 1_040_000  # the largest record that the broker accepts
_LIMIT_S = 600  # the promise is 90 s; a slow machine may need longer, so the test prints the seconds
_BLOCK = """
CREATE FUNCTION fail_on_purpose() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'broken on purpose'; END $$;
CREATE TRIGGER broken BEFORE INSERT ON offers FOR EACH ROW WHEN (NEW.seller_id = '{seller}')
EXECUTE FUNCTION fail_on_purpose();
"""


class Topic:
    """Writes records that the processor would never write."""

    def __init__(self, suite: Suite) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": suite.status()["kafka"],
                "partitioner": "murmur2_random",
                "message.max.bytes": 1_048_576,
            }
        )
        self._partition = -1

    def send(self, key: str, value: bytes, kind: str | None = BATCH) -> int:
        """Write a record; return its partition."""
        headers: dict[str, str | bytes | None] = {} if kind is None else {"type": kind.encode()}
        self._producer.produce(TOPIC, value, key.encode(), headers=headers, on_delivery=self._delivered)
        assert self._producer.flush(60) == 0
        return self._partition

    def send_garbage(self, keys: Sequence[str]) -> int:
        """Write unreadable records, 50 small ones and a large one; return their number."""
        for number in range(50):
            kind = (BATCH, "classifeed.feeds.v1.Unknown", None)[number % 3]
            self.send(keys[number % len(keys)], os.urandom(1 + number * 7), kind)
        self.send(keys[0], b"\xff" * _LARGE_BYTES)
        return 51

    def _delivered(self, error: object, message: Message) -> None:
        assert error is None, error
        partition = message.partition()
        assert partition is not None
        self._partition = partition


@contextmanager
def blocked(suite: Suite, seller: str) -> Iterator[None]:
    """Make the database refuse every offer of a seller within the block."""
    with psycopg.connect(suite.status()["postgres"]["offers"], autocommit=True) as connection:
        connection.execute("SET search_path = offers")
        connection.execute(_BLOCK.format(seller=seller))
        try:
            yield
        finally:
            connection.execute("DROP FUNCTION fail_on_purpose CASCADE")


def load_all(suite: Suite, sellers: Sequence[str], folder: Path, what: str) -> None:
    """Load the feeds of all sellers at the same time, and wait until all loads end."""
    files = {seller: write_feed(folder / f"{seller}.yml", _OFFERS, prefix=seller) for seller in sellers}
    watch = Stopwatch(what)
    uploads = {
        seller: suite.start_command("feed", "upload", file, "--seller", seller, "--timeout", str(_LIMIT_S))
        for seller, file in files.items()
    }
    outcomes = {
        seller: (*upload.communicate(timeout=_LIMIT_S + 60), upload.returncode) for seller, upload in uploads.items()
    }
    watch.stop()
    assert {seller: outcome for seller, outcome in outcomes.items() if outcome[2] != 0} == {}
    for seller in sellers:
        assert set(suite.offers(seller)) == set(offer_ids(_OFFERS, prefix=seller))


@in_campaigns
def test_loads_end_beside_records_that_nobody_can_read(suite: Suite, seller: str, tmp_path: Path) -> None:
    sellers = [f"{seller}{letter}" for letter in "abcdef"[:_SELLERS]]
    before = suite.metric("offers", "classifeed_consumer_dead_letters_total")
    sent = Topic(suite).send_garbage(sellers)
    load_all(suite, sellers, tmp_path, f"{_SELLERS} loads during {sent} unreadable records")
    suite.wait(
        lambda: suite.metric("offers", "classifeed_consumer_dead_letters_total") - before >= sent,
        _LIMIT_S,
        "each unreadable record is a dead letter",
    )
    suite.wait(lambda: bool(suite.status()["ready"]), _LIMIT_S, "all is well")


@in_campaigns
def test_a_partition_that_cannot_go_on_is_named_and_holds_up_no_other(
    suite: Suite, seller: str, tmp_path: Path
) -> None:
    topic = Topic(suite)
    partition = topic.send(seller, b"\xff")
    others = [name for number in range(40) if topic.send(name := f"{seller}-{number}", b"\xff") != partition]
    sellers = others[:_SELLERS]
    with blocked(suite, seller):
        file = write_feed(tmp_path / "blocked.yml", 300, prefix=seller)
        waiting = suite.start_command("feed", "upload", file, "--seller", seller, "--timeout", str(_LIMIT_S))
        watch = Stopwatch("a blocked partition is named")

        def named() -> str:
            problems = suite.status()["services"]["offers"].get("problems", [])
            return " ".join(problem for problem in problems if f"{TOPIC}[{partition}]" in problem)

        suite.wait(lambda: bool(named()), _LIMIT_S, f"status names partition {partition} of {TOPIC}")
        watch.stop()
        load_all(suite, sellers, tmp_path, f"{_SELLERS} loads during a blocked partition")
        assert "broken on purpose" in named()
        ready = json.loads(suite.http("offers", "/health/ready"))
        assert ready["status"] == "degraded"
        assert any(f"{TOPIC}[{partition}]" in what for items in ready["blocked"].values() for what in items)
        assert suite.metric("offers", "classifeed_consumer_blocked_seconds") > 0
        assert waiting.poll() is None
    watch = Stopwatch("the load of a partition that continues")
    output, error = waiting.communicate(timeout=_LIMIT_S)
    watch.stop()
    assert waiting.returncode == 0, (output, error)
    suite.wait(lambda: suite.status()["ready"] and not named(), _LIMIT_S, "nothing is blocked any more")
