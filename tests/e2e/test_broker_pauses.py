"""After a broker is stopped for longer than the session timeout, every group has its members, and loads end.

In half of the pauses a consumer is stopped past its session timeout, too. In some the broker is killed meanwhile.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from bench.kit.generated_feed import offer_ids, write_feed
from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

from classifeed_devkit.testing.campaigns import IS_LONG, in_campaigns
from classifeed_devkit.testing.recovery import Stopwatch
from tests.e2e.signals import stopped
from tests.e2e.suite import Suite
from tests.e2e.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(7200)]
_PAUSES = range(1, 11) if IS_LONG else range(2, 3)
_SEED = int(os.environ.get("CLASSIFEED_SEED", "20261122"))
_PAUSE_S = 35.0 if IS_LONG else 20.0
_SESSION_S = 10.0
_CONSUMERS = ("offers", "processor", "searcher")
_OFFERS = 1_000 if IS_LONG else 300
_SELLERS = 3
# The promise is 60 s. A slow machine may need longer, so the test prints the seconds.
_LIMIT_S = 300.0


class Pause(NamedTuple):
    """The events of one pause."""

    number: int
    consumer: str | None
    is_broker_killed: bool

    def __str__(self) -> str:
        also = f", {self.consumer} past its session" if self.consumer else ""
        return f"pause {self.number}{also}{', broker killed' if self.is_broker_killed else ''}"


def plan_pauses() -> Iterator[Pause]:
    """Yield the pauses: every second one stops a consumer, every fifth one kills the broker."""
    consumers = itertools.cycle(_CONSUMERS)
    for number in _PAUSES:
        yield Pause(number, next(consumers) if number % 2 == 0 else None, number % 5 == 3)


class Groups:
    """The consumer groups of an installation, with the expected number of members of each."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._expected = wait_until(self._steady, 60, "every group to have its members, in two looks")

    def _steady(self) -> dict[str, int] | None:
        """Return the number of members of each group; None while a group rebalances."""
        found = self._count()
        return found if found and all(found.values()) and found == self._count() else None

    def _count(self) -> dict[str, int]:
        # After the loss of its broker a client may find none for minutes, so each poll has a new client.
        admin = AdminClient({"bootstrap.servers": self._bootstrap})
        listed = admin.list_consumer_groups(request_timeout=10).result()
        names = sorted(group.group_id for group in listed.valid if not group.group_id.startswith("look"))
        described = admin.describe_consumer_groups(names, request_timeout=10)
        found = {name: future.result() for name, future in described.items()}
        return {
            name: sum(len(member.assignment.topic_partitions) > 0 for member in group.members)
            if group.state == ConsumerGroupState.STABLE
            else 0
            for name, group in found.items()
        }

    def missing(self) -> dict[str, int]:
        """Return the groups that lack members, with the number of members that they have."""
        try:
            now = self._count()
        except KafkaException:  # the broker does not run yet
            return self._expected
        return {name: now.get(name, 0) for name, count in self._expected.items() if now.get(name, 0) < count}


class Shops:
    """Sellers who load repeatedly."""

    def __init__(self, suite: Suite, seller: str, folder: Path) -> None:
        self._suite = suite
        self._folder = folder
        self._revision = 0
        self.sellers = [f"{seller}{letter}" for letter in "abc"[:_SELLERS]]

    def begin(self) -> Sequence[subprocess.Popen[str]]:
        """Start an upload with new prices for each seller."""
        self._revision += 1
        return [
            self._suite.start_command("feed", "upload", self._write(seller), "--seller", seller, "--timeout", "900")
            for seller in self.sellers
        ]

    def end(self, uploads: Sequence[subprocess.Popen[str]]) -> None:
        """Wait for the end of all loads."""
        for upload in uploads:
            output, error = upload.communicate(timeout=_LIMIT_S)
            assert upload.returncode == 0, (output, error)

    def check(self) -> None:
        """Compare the offers with the newest files."""
        least = self._revision * 10_000 * 1_000_000
        for seller in self.sellers:
            offers = self._suite.offers(seller)
            assert set(offers) == set(offer_ids(_OFFERS, prefix=seller))
            assert all(int(offer["content"]["price"]["amount_micros"]) >= least for offer in offers.values())

    def _write(self, seller: str) -> Path:
        return write_feed(self._folder / f"{seller}.yml", _OFFERS, prefix=seller, revision=self._revision * 10_000)


@in_campaigns
def test_groups_have_their_members_after_each_pause_of_the_broker(suite: Suite, seller: str, tmp_path: Path) -> None:
    rng = random.Random(_SEED)
    shops = Shops(suite, seller, tmp_path)
    shops.end(shops.begin())
    groups = Groups(suite.status()["kafka"])
    slowest_s = 0.0
    for pause in plan_pauses():
        status = suite.status()
        broker = status["parts"]["kafka"]["pid"]
        uploads = shops.begin()
        time.sleep(rng.random() * 3)  # the pause begins at a random moment of the loads
        with ExitStack() as consumer:
            if pause.consumer is not None:
                consumer.enter_context(stopped(*status["services"][pause.consumer]["pids"].values()))
            with stopped(broker):
                time.sleep(_PAUSE_S)  # the fault itself
                if pause.is_broker_killed:
                    os.kill(broker, signal.SIGKILL)
            watch = Stopwatch(f"{pause}: loads have ended")
            if pause.consumer is not None:
                time.sleep(_SESSION_S + 5)  # past the session timeout
        shops.end(uploads)
        slowest_s = max(slowest_s, watch.stop())
        watch = Stopwatch(f"{pause}: groups have their members")
        suite.wait(lambda: not groups.missing(), _LIMIT_S, "groups have their members")
        watch.stop()
        shops.check()
    print(f"recovery: the slowest of {len(_PAUSES)} pauses: {slowest_s:.1f} s")  # noqa: T201 - a measurement
    suite.settle()
