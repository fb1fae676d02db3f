"""Relay: sends a shard of the outbox to Kafka in the order of ids, and removes acknowledged messages; under a lease."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final

import structlog

from classifeed_common.clock import Clock
from classifeed_common.db import Database, load_queries
from classifeed_common.kafka.producer import KafkaProducer
from classifeed_common.kafka.records import Message
from classifeed_common.lease import Lease, LeasedLoop, Leases
from classifeed_common.loops import Loop, Looping
from classifeed_common.outbox.cursor import OutboxCursor
from classifeed_common.outbox.outbox import Outbox
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.pacing.duty_cycle import gather_records
from classifeed_common.telemetry.metrics import OUTBOX_OLDEST_AGE, OUTBOX_SENT

_log = structlog.get_logger(__name__)

_SQL: Final = load_queries("classifeed_common.outbox")
_READ: Final = _SQL["read_front"]
_REMOVE: Final = _SQL["remove_sent"]
_IS_ANYTHING_WAITING: Final = _SQL["is_anything_waiting"]
_COUNT: Final = _SQL["count_waiting"]

_FIRST_PAUSE_S: Final = 0.01
_GATHER_S: Final = 0.1
_STOP_GRACE_S: Final = 2.0
_DOING: Final = "sending"


class Relay(Looping):
    """Sends the messages of one shard in the order of their ids, at least once each, while it holds the shard's lease.

    A relay that was paused beyond its lease may still send messages that it had read: a late duplicate, never a loss.
    """

    loop: LeasedLoop

    def __init__(
        self,
        database: Database,
        producer: KafkaProducer,
        leases: Leases,
        shard: int = 0,
        *,
        outbox: Outbox | None = None,
        max_messages: int = 1000,
        max_idle_s: float = 0.25,
        max_backoff_s: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        """Prepare a relay; `run` starts it.

        Args:
            database: database of the outbox.
            producer: producer, started by the caller.
            leases: leases in the same database.
            shard: shard of the outbox.
            outbox: outbox of this process, whose `wake` shortens the wait for the next poll; None: it has none.
            max_messages: largest number of messages sent and removed at a time.
            max_idle_s: longest pause between two reads of an empty outbox, in seconds.
            max_backoff_s: longest pause after a fault, in seconds.
            clock: clock of the fault's duration; None: the system's.
        """
        self._database = database
        self._producer = producer
        self._leases = leases
        self._shard = shard
        self._arrival = outbox.arrival(shard) if outbox is not None else asyncio.Event()
        self._max_messages = max_messages
        self._cursor = OutboxCursor()
        self._was_empty = False
        self._idle = Backoff(_FIRST_PAUSE_S, max_idle_s)
        loop = Loop(
            self._send,
            period_s=max_idle_s,
            name=f"outbox shard {shard}",
            doing=_DOING,
            effect="Messages wait in the outbox",
            backoff=Backoff(_FIRST_PAUSE_S, max_backoff_s),
            wake=self._arrival,
            on_fault=lambda _: self._cursor.reset(),  # the fault may be a restore, which breaks the connections
            event="relay.blocked",
            clock=clock,
        )
        self.loop = LeasedLoop(leases, f"outbox:{shard}", loop, on_gain=self._begin, grace_s=_STOP_GRACE_S)

    async def backlog(self) -> int:
        """Return the number of messages that wait to be sent. Read-only."""
        return int(await self._read_value(_COUNT))

    def _begin(self, lease: Lease) -> None:
        _log.info("relay.begun", lease=lease.name, fence=lease.fence)
        self._cursor.reset()
        self._idle.reset()

    async def _send(self) -> object:
        began_s = time.monotonic()
        sent = await self._send_front(self.loop.lease)
        if not sent:
            return self._idle.next_s()
        self._idle.reset()
        if sent < self._max_messages:
            await gather_records(began_s, self.loop.stopping, longest_s=_GATHER_S)
        return True

    async def _send_front(self, lease: Lease) -> int:
        """Send and remove the first messages; return their number."""
        if self._was_empty and self._cursor.is_at_rest and not await self._read_value(_IS_ANYTHING_WAITING):
            return 0  # an empty outbox costs one statement without locks
        async with self._database.transaction() as tx:
            await self._leases.guard(tx, lease)
            after = await self._cursor.begin(tx)
            parameters = {"shard": self._shard, "after": after, "limit": self._max_messages}
            rows = await (await tx.execute(_READ, parameters)).fetchall()
            self._cursor.read(after)
        OUTBOX_OLDEST_AGE.labels(self._database.schema, str(self._shard)).set(rows[0][-1] if rows else 0.0)
        self._was_empty = not rows
        if not rows:
            self._cursor.removed(0, is_whole=True)
            return 0
        messages = [_message(row) for row in rows]
        loop = self.loop.loop
        loop.doing = f"{_DOING} to {', '.join(sorted({message.topic for message in messages}))}"
        with loop.fault.waiting_for(f"Kafka to acknowledge {len(messages)} messages"):
            await self._producer.send(messages, limit_s=None)
        loop.doing = _DOING
        # Without the lease's guard: these messages are acknowledged, and a successor would only send them again.
        async with self._database.connection() as connection:
            await connection.execute(_REMOVE, {"shard": self._shard, "ids": [row[0] for row in rows]})
        self._cursor.removed(rows[-1][0], is_whole=len(rows) < self._max_messages)
        OUTBOX_SENT.labels(self._database.schema, str(self._shard)).inc(len(rows))
        return len(rows)

    async def _read_value(self, query: str) -> Any:
        """Run a query about the shard above the cursor, in a separate statement, and return its value."""
        async with self._database.connection() as connection:
            parameters = {"shard": self._shard, "after": self._cursor.position}
            [(value,)] = await (await connection.execute(query, parameters)).fetchall()
        return value


def _message(row: Sequence[Any]) -> Message:
    _, topic, partition, key, value, headers, _ = row
    return Message(topic, key, value, {name: text.encode("latin-1") for name, text in headers.items()}, partition)
