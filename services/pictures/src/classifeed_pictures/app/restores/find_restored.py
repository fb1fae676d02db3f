"""Detects a table that was restored without the others, repairs it, and reports it until then (ADR 0101)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

import structlog

from classifeed_common.db import Database, Tx
from classifeed_jobs import JobStore
from classifeed_pictures.domain.marked_tables import EVENT_FILES, JOBS, REQUESTS, STATES, STORED, TABLES, MarkedTable
from classifeed_pictures.domain.restored_tables import describe
from classifeed_pictures.store.backups import backups, marks
from classifeed_pictures.store.backups.marks import Found

NAMED_S: Final = 86400.0
"""Seconds for which an unrepairable table is reported, so that an operator reads it."""
_CAUSE: Final = "a restore of the table "
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FindRestored:
    """Compares the marks of tables with the recorded ones; for a Watch.

    Attributes:
        database: database with the tables.
        group: consumer group of events, which are applied again from the mark of a restored table on.
        jobs: job store of the service.
        on_events_lost: called with the transaction and the cause if no events bring the rows again.
    """

    database: Database
    group: str
    jobs: JobStore
    on_events_lost: Callable[[Tx, str], Awaitable[None]]

    async def __call__(self) -> Mapping[str, str]:
        """Check each table and move its mark; return the tables that are not repaired, with the fix."""
        for table in TABLES:
            if not await self._look(table):
                await self._mend(table)
        await self._look_at_jobs()
        return await self._name_restored()

    async def _look(self, table: MarkedTable) -> bool:
        """Move the mark of a table; return False if the table was restored without the others."""
        async with self.database.transaction() as tx:
            found = await marks.look_at(tx, table)
            if _is_restored(table, found):
                return False
            await self._move(tx, table, found)
        return True

    async def _mend(self, table: MarkedTable) -> None:
        async with self.database.transaction() as tx:
            await backups.stop_effects(tx)  # first, as a restore of a backup locks in this order, too
            found = await marks.look_at(tx, table)
            if not _is_restored(table, found):
                return
            targets: marks.Positions = []
            if table.name in (STATES, *REQUESTS):
                targets = await self._apply_events_again(tx, table, found)
            elif table.name == EVENT_FILES:
                await marks.drop_waiting_files(tx)
            else:
                await backups.derive_files(tx)
            await marks.note_restored(
                tx, table.name, number=found.number, targets=targets, is_checked=table.name == STORED
            )
            await self._move(tx, table, found)
        _log.error("pictures.table.restored", table=table.name, number=found.number, noted=found.noted)

    async def _look_at_jobs(self) -> None:
        """Record the newest job; if the job tables were restored alone, start the check for orders without a job."""
        async with self.database.transaction() as tx:
            found = await marks.note_jobs(tx, self.jobs)
            if found.number >= found.noted:
                return
            await marks.note_restored(tx, JOBS, number=found.number, targets=[], is_checked=True)
        _log.error("pictures.table.restored", table=JOBS, number=found.number, noted=found.noted)

    async def _apply_events_again(self, tx: Tx, table: MarkedTable, found: Found) -> marks.Positions:
        """Rewind the group; return the positions up to which events are applied again."""
        if table.name != STATES or not found.number:
            await self.on_events_lost(tx, f"{_CAUSE}{table.name}")
        if not found.number:
            return []
        targets = await marks.list_targets(tx, self.group)
        await marks.rewind(tx, self.group, found.positions)
        return targets

    async def _move(self, tx: Tx, table: MarkedTable, found: Found) -> None:
        has_positions = table.name in (STATES, *REQUESTS)
        positions = await marks.list_positions(tx, self.group) if has_positions else []
        number = max(found.noted + 1, found.number + 1, found.now)
        await marks.move_mark(tx, table, number=number, positions=positions)

    async def _name_restored(self) -> Mapping[str, str]:
        named: dict[str, str] = {}
        async with self.database.transaction() as tx:
            for table in await marks.list_restored(tx, self.group, cause=_CAUSE, named_s=NAMED_S):
                has_others = table.name in REQUESTS and await marks.has_other_clients(tx)
                why = describe(table, has_others=has_others)
                if why:
                    named[f"table {table.name}"] = why
                else:
                    await marks.end_mending(tx, table.name)
        return named


def _is_restored(table: MarkedTable, found: Found) -> bool:
    if found.number:
        return found.number < found.noted
    return found.is_empty and table.is_never_empty and found.had_rows
