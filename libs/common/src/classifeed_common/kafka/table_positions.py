"""Positions in the table `consumer_offsets` of the service's schema, moved in the transaction of the effects."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

import structlog

from classifeed_common.db import Database, Tx, load_queries
from classifeed_common.kafka.positions import GroupPartition, LogLost, Position, ZombieConsumer
from classifeed_common.telemetry import metrics

_SQL = load_queries(__package__)
_LOAD = _SQL["load_positions"]
_GROUPS = _SQL["list_groups"]
_BEGIN = _SQL["begin_positions"]
_LIMIT = _SQL["limit_effect"]
_MOVE = _SQL["move_positions"]
_REPLACE = _SQL["replace_positions"]
_HAS_TRANSACTION_TIMEOUT = 170000

_log = structlog.get_logger(__name__)


class TablePositions:
    """`Positions` whose effect is one database transaction; handlers receive the open connection."""

    def __init__(self, database: Database, *, effect_limit_s: float = 60.0) -> None:
        """Prepare positions in `database`, whose schema has the table (`ddl("consumer_offsets", 1)`).

        Args:
            database: the service's database.
            effect_limit_s: seconds after which the server ends an effect, so that the partitions' next owner does not
                wait for the locks of a paused process. Needs PostgreSQL 17; before, only the session's idle limit
                applies, which does not run after a pipelined statement such as executemany.
        """
        self._database = database
        self._limit_ms = str(int(effect_limit_s * 1000))

    @property
    def place(self) -> str:
        """Name of the table, for an operator."""
        return f"table {self._database.schema}.consumer_offsets"

    async def load(self, parts: Collection[GroupPartition]) -> dict[GroupPartition, Position]:
        """Return the stored positions of `parts`; parts without one are left out."""
        async with self._database.connection() as connection:
            cursor = await connection.execute(_LOAD, _columns(parts))
            rows = await cursor.fetchall()
        return {GroupPartition(*row[:3]): Position(*row[3:]) for row in rows}

    async def groups_of(self, topic: str) -> dict[str, dict[int, Position]]:
        """Return the positions of every group that reads a topic, by partition. Read-only."""
        async with self._database.connection() as connection:
            rows = await (await connection.execute(_GROUPS, {"topic": topic})).fetchall()
        found: dict[str, dict[int, Position]] = {}
        for group, partition, topic_id, following in rows:
            found.setdefault(group, {})[partition] = Position(topic_id, following)
        return found

    async def begin(self, starts: Mapping[GroupPartition, Position]) -> None:
        """Store first positions; existing rows stay. Idempotent."""
        parameters = _columns(starts) | {
            "topic_ids": [position.topic_id for position in starts.values()],
            "nexts": [position.next for position in starts.values()],
        }
        async with self._database.transaction() as tx:
            await tx.execute(_BEGIN, parameters)

    async def skip_lost(self, lost: LogLost, *, with_effect: Callable[[Tx], Awaitable[None]] | None = None) -> None:
        """Continue where the log can be read: `on_log_lost` of a consumer whose senders repeat their requests.

        Idempotent. Counted and logged, because skipped records are lost.

        Args:
            lost: the fault, with the lost positions.
            with_effect: further changes in the transaction that moves the positions.
        """
        parameters = _columns(lost.moves) | {
            "expected_ids": [move.stored.topic_id for move in lost.moves.values()],
            "expected": [move.stored.next for move in lost.moves.values()],
            "new_ids": [move.readable.topic_id for move in lost.moves.values()],
            "new_next": [move.readable.next for move in lost.moves.values()],
        }
        async with self._database.transaction() as tx:
            await tx.execute(_REPLACE, parameters)
            if with_effect is not None:
                await with_effect(tx)
        for part, move in lost.moves.items():
            metrics.LOST_RECORDS.labels(part.group, part.topic).inc(move.skipped)
            _log.error(
                "consumer.log.skipped",
                group=part.group,
                topic=part.topic,
                partition=part.partition,
                stood_at=move.stored.next,
                goes_on_at=move.readable.next,
                lost=move.skipped,
            )

    @asynccontextmanager
    async def effect(
        self, expected: Mapping[GroupPartition, Position], new: Mapping[GroupPartition, Position]
    ) -> AsyncIterator[Tx]:
        """Open a transaction that has moved the positions; the effects and the move commit together.

        Raises:
            ZombieConsumer: another consumer has moved one of the positions; the transaction is rolled back.
        """
        parameters = _columns(expected) | {
            "expected_ids": [position.topic_id for position in expected.values()],
            "expected": [position.next for position in expected.values()],
            "new_next": [new[part].next for part in expected],
        }
        async with self._database.transaction() as tx:
            if tx.info.server_version >= _HAS_TRANSACTION_TIMEOUT:
                await tx.execute(_LIMIT, {"limit_ms": self._limit_ms})
            cursor = await tx.execute(_MOVE, parameters)
            if cursor.rowcount != len(expected):
                raise ZombieConsumer(
                    f"{len(expected) - cursor.rowcount} of {len(expected)} partitions were moved by another consumer: "
                    + ", ".join(f"{part.topic}[{part.partition}] from {at.next}" for part, at in expected.items())
                )
            yield tx


def _columns(parts: Collection[GroupPartition]) -> dict[str, Any]:
    return {
        "groups": [part.group for part in parts],
        "topics": [part.topic for part in parts],
        "partitions": [part.partition for part in parts],
    }


class NotifyingPositions(TablePositions):
    """Positions that call functions after each commit, so that replies and documents do not wait for a poll."""

    def __init__(self, database: Database, *notify: Callable[[], None]) -> None:
        super().__init__(database)
        self._notify = notify

    @asynccontextmanager
    async def effect(
        self, expected: Mapping[GroupPartition, Position], new: Mapping[GroupPartition, Position]
    ) -> AsyncIterator[Any]:
        """Open an effect; see TablePositions."""
        async with super().effect(expected, new) as tx:
            yield tx
        for notify in self._notify:
            notify()
