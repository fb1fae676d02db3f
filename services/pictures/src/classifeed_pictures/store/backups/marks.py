"""Marks of tables: a few rows of each table have a number, which is also stored in `table_marks`.

The number grows every few seconds. If the rows of a table have a lower number than `table_marks`, the table was
restored without the others: to the time of that number and the Kafka positions stored with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from psycopg import sql
from psycopg.types.json import Jsonb

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_jobs import JobStore
from classifeed_pictures.domain.marked_tables import JOBS, MarkedTable
from classifeed_pictures.domain.restored_tables import RestoredTable
from classifeed_pictures.store.states.states import forbid_scans

_SQL: Final = load_queries(__package__, "marks.sql")
_READ: Final = sql.SQL(
    """
    SELECT (SELECT mark FROM {table} WHERE mark IS NOT NULL ORDER BY (mark->>'number')::bigint DESC LIMIT 1),
           NOT EXISTS (SELECT FROM {table})
    """
)
# Rows are locked in the order of their keys, as by other writers. Marked rows have no limit: with one, the planner
# would search the index of all keys.
_MARK: Final = sql.SQL(
    """
    UPDATE {table} SET mark = %s
    WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {chosen} ORDER BY {key} {limit} FOR NO KEY UPDATE)
    """
)
_CHOICES: Final = (
    {"chosen": sql.SQL("mark IS NOT NULL"), "limit": sql.SQL("")},
    {"chosen": sql.SQL("true"), "limit": sql.SQL("LIMIT 3")},
)

Positions = list[list[Any]]
"""List of [topic, partition, id of the topic, next offset]."""


class Found(NamedTuple):
    """The result of a check of a table.

    Attributes:
        noted: last number in `table_marks`.
        had_rows: whether rows had it.
        now: microseconds since 1970, by the clock of the database.
        number: number of the rows; 0: no row has one.
        positions: positions at that number.
        is_empty: whether the table has no rows.
    """

    noted: int
    had_rows: bool
    now: int
    number: int
    positions: Positions
    is_empty: bool


async def look_at(tx: Tx, table: MarkedTable) -> Found:
    """Return the recorded number and that of the rows; no other process checks until the transaction ends."""
    [(noted, had_rows, now)] = await fetch_named(tx, _SQL["lock_mark"], {"name": table.name})
    [(mark, is_empty)] = await (await tx.execute(_READ.format(table=sql.Identifier(table.name)))).fetchall()
    if mark is None:
        return Found(noted, had_rows, now, 0, [], is_empty)
    return Found(noted, had_rows, now, mark["number"], mark["positions"], is_empty)


async def note_jobs(tx: Tx, store: JobStore) -> Found:
    """Record the creation time of the newest job, and return the previous record, like `look_at`.

    `number` is lower than `noted` if the job that was recorded no longer exists.
    """
    [(noted, had_rows, now)] = await fetch_named(tx, _SQL["lock_mark"], {"name": JOBS})
    number = 1000 * await store.newest_ms(tx, until_ms=noted // 1000)
    newest = 1000 * await store.newest_ms(tx)
    await tx.execute(_SQL["note_mark"], {"name": JOBS, "number": newest, "has_rows": newest > 0})
    return Found(noted, had_rows, now, number, [], is_empty=not number)


async def move_mark(tx: Tx, table: MarkedTable, *, number: int, positions: Positions) -> None:
    """Set a new number in the marked rows of a table and in `table_marks`; without marked rows the first rows are
    marked.

    The rest of the transaction finds rows by their keys.
    """
    mark = Jsonb({"number": number, "positions": positions})
    key = sql.SQL(", ").join(map(sql.Identifier, table.key))
    changed = 0
    await forbid_scans(tx)
    for choice in _CHOICES:
        statement = _MARK.format(table=sql.Identifier(table.name), key=key, **choice)
        changed = (await tx.execute(statement, [mark])).rowcount
        if changed:
            break
    await tx.execute(_SQL["note_mark"], {"name": table.name, "number": number, "has_rows": changed > 0})


async def list_positions(tx: Tx, group: str) -> Positions:
    """Return the positions of a group. Call it before a table is marked, which then has all effects before them."""
    return await _positions(tx, "list_positions", group)


async def list_targets(tx: Tx, group: str) -> Positions:
    """Return the positions of a group, or those it must reach after other restores. Call it before `rewind`."""
    return await _positions(tx, "list_targets", group)


async def rewind(tx: Tx, group: str, positions: Positions) -> None:
    """Have a group apply the events after some positions again; lower positions stay."""
    await tx.execute(_SQL["rewind"], {"group": group, "positions": Jsonb(positions)})


async def note_restored(tx: Tx, name: str, *, number: int, targets: Positions, is_checked: bool) -> None:
    """Record that a table was restored without the others.

    Args:
        tx: transaction with the tables.
        name: name of the table.
        number: number of its rows.
        targets: positions at which it is repaired; empty: no events are applied again.
        is_checked: whether all states must be checked.
    """
    parameters = {
        "name": name,
        "number": number,
        "targets": Jsonb(targets),
        "checked_through": b"" if is_checked else None,
    }
    await tx.execute(_SQL["note_restored"], parameters)


async def list_restored(tx: Tx, group: str, *, cause: str, named_s: float) -> list[RestoredTable]:
    """Return the tables that were restored without the others and are not finished.

    Args:
        tx: transaction with the tables.
        group: consumer group of events.
        cause: prefix of the causes of event gaps that end with the name of such a table.
        named_s: seconds after which `is_old` is true.
    """
    parameters = {"group": group, "cause": cause, "named_s": named_s}
    return [RestoredTable(*row) for row in await fetch_named(tx, _SQL["list_restored"], parameters)]


async def has_other_clients(tx: Tx) -> bool:
    """Return whether clients other than offers have requested pictures."""
    [(has_others,)] = await (await tx.execute(_SQL["has_others"])).fetchall()
    return bool(has_others)


async def end_mending(tx: Tx, name: str) -> None:
    """Record that a table is repaired; idempotent."""
    await tx.execute(_SQL["end_mending"], {"name": name})


async def drop_waiting_files(tx: Tx) -> None:
    """Have waiting event files listed again; one that is being processed may be processed twice."""
    await tx.execute(_SQL["drop_waiting_files"])


async def lock_check(tx: Tx, name: str) -> bytes | None:
    """Return the last checked hash; None if no check is needed or another process does it."""
    row = await (await tx.execute(_SQL["lock_check"], {"name": name})).fetchone()
    return bytes(row[0]) if row is not None else None


async def list_states(tx: Tx, *, after: bytes, limit: int) -> list[Any]:
    """Return states as rows (url_hash, url, is_put, holdings), in the order of their hashes."""
    return await fetch_named(tx, _SQL["list_states"], {"after": after, "limit": limit}, prepare=False)


async def list_missing(tx: Tx, places: Sequence[tuple[str, int, str]]) -> list[int]:
    """Return the numbers, from 0, of the places without a stored picture."""
    columns = [list(column) for column in zip(*places, strict=True)] or [[], [], []]
    parameters = dict(zip(("namespaces", "group_ids", "names"), columns, strict=True))
    cursor = await tx.execute(_SQL["list_missing"], parameters, prepare=False)
    return [number - 1 for (number,) in await cursor.fetchall()]


async def note_check(tx: Tx, name: str, *, through: bytes | None, lost_puts: int) -> None:
    """Record the progress of the check of states; None: all are checked."""
    await tx.execute(_SQL["note_check"], {"name": name, "through": through, "lost_puts": lost_puts})


async def _positions(tx: Tx, name: str, group: str) -> Positions:
    rows: list[tuple[Positions]] = await (await tx.execute(_SQL[name], {"group": group})).fetchall()
    return rows[0][0]
