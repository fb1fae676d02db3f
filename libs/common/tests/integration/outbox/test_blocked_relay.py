"""A relay that cannot send is reported with topic and reason while the fault lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from classifeed_common.clock import FakeClock
from classifeed_common.db import Database, ddl
from classifeed_common.errors import Unavailable
from classifeed_common.kafka import Message
from classifeed_common.lease import Leases
from classifeed_common.outbox import Outbox, Relay
from classifeed_devkit.testing.background import running
from classifeed_devkit.testing.recovery import until

SHARD = "outbox shard 0"


class Broker:
    """Refuses messages, or does not acknowledge them, until it recovers; counts the attempts."""

    def __init__(self, *, is_silent: bool) -> None:
        self._is_silent = is_silent
        self.well = asyncio.Event()
        self.attempts = 0

    async def send(self, messages: Sequence[Message], *, limit_s: float | None = None) -> None:
        self.attempts += 1
        if self._is_silent:
            await self.well.wait()
        elif not self.well.is_set():
            raise Unavailable("KAFKA_UNAVAILABLE", "it has no such topic")


@pytest.fixture
async def db(database: Database) -> Database:
    async with database.transaction() as tx:
        await tx.execute(ddl("outbox", 1))
        await tx.execute(ddl("leases", 1))
        await Outbox().put(tx, [Message("offers.v1", b"k", b"1"), Message("results.v1", b"k", b"2")])
    return database


def relay_of(db: Database, broker: Broker, clock: FakeClock, holder: str = "one", ttl_s: float = 60) -> Relay:
    return Relay(db, broker, Leases(db, holder, ttl_s), clock=clock, max_backoff_s=0.05)  # type: ignore[arg-type]


async def test_a_relay_names_topics_and_fault_until_it_sends_again(db: Database) -> None:
    broker, clock = Broker(is_silent=False), FakeClock()
    relay = relay_of(db, broker, clock)
    async with running(relay):
        await until(lambda: broker.attempts > 1)
        assert relay.blocked() == {}
        await clock.advance(5)
        fault = relay.blocked()[SHARD]
        assert fault.startswith("sending to offers.v1, results.v1 has failed for 5 s, ")
        assert ": KAFKA_UNAVAILABLE: it has no such topic. Messages wait in the outbox; it continues once" in fault
        broker.well.set()
        await until(lambda: relay.blocked() == {})
        assert await relay.backlog() == 0


async def test_a_relay_whose_messages_nobody_acknowledges_is_named(db: Database) -> None:
    broker, clock = Broker(is_silent=True), FakeClock()
    relay = relay_of(db, broker, clock)
    async with running(relay):
        await until(lambda: broker.attempts == 1)
        assert relay.blocked() == {}
        await clock.advance(6)
        waited = "sending to offers.v1, results.v1 has waited 6 s for Kafka to acknowledge 2 messages. "
        assert relay.blocked()[SHARD].startswith(waited)
        broker.well.set()
        await until(lambda: relay.blocked() == {})


async def test_a_relay_that_lost_its_lease_names_nothing(db: Database) -> None:
    broker, clock = Broker(is_silent=False), FakeClock()
    relay = relay_of(db, broker, clock, ttl_s=0.5)
    async with running(relay):
        await until(lambda: broker.attempts > 1)
        await clock.advance(5)
        assert relay.blocked()
        async with db.connection() as connection:
            await connection.execute("UPDATE leases SET holder = 'other', fence = fence + 1, expires_at = 'infinity'")
        await until(lambda: relay.blocked() == {})
