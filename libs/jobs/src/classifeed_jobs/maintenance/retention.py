"""Retention: partitions of complete jobs and of the journal, created ahead and dropped by age (ADR 0022)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import psycopg
import structlog
from psycopg import sql

from classifeed_common.db import Database, Tx, load_queries
from classifeed_common.errors import name_fault

_log = structlog.get_logger("classifeed_jobs.maintenance.retention")
_SQL = load_queries("classifeed_jobs.maintenance", "housekeeping.sql")
_LIST = _SQL["list_partitions"]
_PLACE_OF = _SQL["place_of"]
_DELETE = {"dl_jobs_done": _SQL["delete_done"], "dl_job_events": _SQL["delete_events"]}

_LOCK_TIMEOUT_MS: Final = 200
_STATEMENT_TIMEOUT_MS: Final = 1000
_SLICE: Final = 5000
_BUSY: Final = (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled, psycopg.errors.DeadlockDetected)


@dataclass(frozen=True, slots=True)
class Retention:
    """Retention of complete jobs and of the journal.

    Attributes:
        done_days: Days for which a job is kept after its completion.
        events_days: Days for which an event of the journal is kept, even if its job is live.
        partition_days: Days per partition; a partition is dropped as a whole.
    """

    done_days: int = 30
    events_days: int = 30
    partition_days: int = 7

    def __post_init__(self) -> None:
        for name in ("done_days", "events_days", "partition_days"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be 1 or more, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class _Partition:
    name: str
    lower: datetime
    upper: datetime


class Archive:
    """The two partitioned tables.

    A change of a table waits at most 200 ms for its lock and runs for at most a second. If it fails, the next call
    retries it.
    """

    def __init__(self, database: Database, retention: Retention) -> None:
        self._db = database
        self._retention = retention

    async def tend(self) -> None:
        """Create partitions ahead, drop old ones, and delete old rows of the default partition.

        The default partition has the rows of times without a partition. Any number of processes may call this at once.
        """
        ages = {"dl_jobs_done": self._retention.done_days, "dl_job_events": self._retention.events_days}
        for parent, days in ages.items():
            now, schema, partitions = await self._partitions(parent)
            before = now - timedelta(days=days)
            await self._make_ahead(parent, schema, now, partitions)
            for partition in partitions:
                if partition.upper <= before:
                    drop = sql.SQL("DROP TABLE {}").format(sql.Identifier(schema, partition.name))
                    await self._change(parent, f"drop {partition.name}", [drop])
            await self._delete(parent, before)

    async def _partitions(self, parent: str) -> tuple[datetime, str, list[_Partition]]:
        async with self._db.transaction() as tx:
            place = await (await tx.execute(_PLACE_OF, {"parent": parent})).fetchone()
            rows = await (await tx.execute(_LIST, {"parent": parent})).fetchall()
        if place is None:
            raise LookupError(f"there is no table {parent}: run the migrations")
        return place[0], place[1], [_Partition(*row) for row in rows]

    async def _make_ahead(self, parent: str, schema: str, now: datetime, partitions: list[_Partition]) -> None:
        width = timedelta(days=self._retention.partition_days)
        tomorrow = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), datetime.min.time(), UTC)
        # Never for a time that has begun: the default partition may have its rows already.
        lower = max([tomorrow, *(partition.upper for partition in partitions)])
        while lower < now + 2 * width:
            name = f"{parent}_{lower.astimezone(UTC):%Y%m%d}"
            whole, part = sql.Identifier(schema, parent), sql.Identifier(schema, name)
            statements = [
                sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)").format(part, whole),
                sql.SQL("ALTER TABLE {} ATTACH PARTITION {} FOR VALUES FROM ({}) TO ({})").format(
                    whole, part, sql.Literal(lower), sql.Literal(lower + width)
                ),
            ]
            if not await self._change(parent, f"make {name}", statements):
                return
            lower += width

    async def _change(self, parent: str, what: str, statements: list[sql.Composed]) -> bool:
        try:
            async with self._db.transaction() as tx:
                await tx.execute(f"SET LOCAL lock_timeout = {_LOCK_TIMEOUT_MS}")
                await tx.execute(f"SET LOCAL statement_timeout = {_STATEMENT_TIMEOUT_MS}")
                # Serializes processes; jobs can still complete meanwhile.
                await tx.execute(sql.SQL("LOCK TABLE {} IN SHARE UPDATE EXCLUSIVE MODE").format(sql.Identifier(parent)))
                for statement in statements:
                    await tx.execute(statement)
        except (psycopg.errors.DuplicateTable, psycopg.errors.UndefinedTable):
            return False  # another process was faster
        except _BUSY as error:
            _log.warning("reaper.partition.busy", what=what, error=name_fault(error))
            return False
        _log.info("reaper.partition", what=what)
        return True

    async def _delete(self, parent: str, before: datetime) -> None:
        deleted = _SLICE
        while deleted == _SLICE:
            async with self._db.transaction() as tx:
                deleted = await _delete_slice(tx, parent, before)


async def _delete_slice(tx: Tx, parent: str, before: datetime) -> int:
    return (await tx.execute(_DELETE[parent], {"before": before, "limit": _SLICE})).rowcount
