"""Reads the state for backups, and replaces it by a backup."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from psycopg import sql

from classifeed_common.db import Tx, load_queries
from classifeed_pictures.domain.backups import Stand
from classifeed_pictures.store.backups.backup_columns import columns_of, is_json
from classifeed_pictures.store.files.namespaces import SLOTS

_SQL: Final = load_queries(__package__, "backups.sql")
HELD: Final = "held_pictures"
HELD_COLUMNS: Final = ("namespace", "group_id", "name", "url", "is_put")
_INCOMING: Final = "incoming"
_READ: Final = {
    "shard": "WHERE url_hash > %(after)s AND (%(through)s::bytea IS NULL OR url_hash <= %(through)s::bytea)",
    "namespaces": "",
    # The next listing finds the unfinished ones again.
    "event_files": "WHERE ended_at IS NOT NULL",
    # Only unsent results: their requests are settled, so that nothing would send them again. Orders are repeated.
    "outbox": "WHERE topic = %(topic)s",
}
_COPY: Final = sql.SQL("COPY {table} ({columns}) FROM STDIN")
_MAKE_INCOMING: Final = sql.SQL("CREATE TEMPORARY TABLE incoming (LIKE {table} INCLUDING DEFAULTS)")
# Existing rows are newer.
_TAKE_INCOMING: Final = sql.SQL("INSERT INTO {table} SELECT * FROM incoming ON CONFLICT DO NOTHING")
_DROP_INCOMING: Final = "DROP TABLE incoming"


async def begin_snapshot(tx: Tx) -> tuple[Stand, ...]:
    """Begin a read-only snapshot; return the positions of all groups in it. Call it first in the transaction."""
    await tx.execute(_SQL["begin_snapshot"])
    return tuple(Stand(*row) for row in await (await tx.execute(_SQL["read_stands"])).fetchall())


async def find_bound(tx: Tx, *, after: bytes, states: int) -> bytes | None:
    """Return the last hash of a shard with a number of states; None if it extends to the end."""
    row = await (await tx.execute(_SQL["find_bound"], {"after": after, "states": states})).fetchone()
    return bytes(row[0]) if row is not None else None


async def read_rows(
    tx: Tx, table: str, part: str, parameters: Mapping[str, Any], *, page: int
) -> AsyncIterator[Sequence[Any]]:
    """Yield the rows of a table with the columns of a backup, page by page."""
    columns = [
        sql.SQL("{}::text").format(sql.Identifier(column.name)) if is_json(column) else sql.Identifier(column.name)
        for column in columns_of(table)
    ]
    query = sql.SQL("SELECT {columns} FROM {table} {condition}").format(
        columns=sql.SQL(", ").join(columns), table=sql.Identifier(table), condition=sql.SQL(_READ[part])
    )
    async with tx.cursor(name="backup", binary=True) as cursor:
        await cursor.execute(query, parameters)
        while rows := await cursor.fetchmany(page):
            yield rows


async def empty(tx: Tx) -> None:
    """Stop the effects of all consumers until the transaction ends, and delete the state."""
    await stop_effects(tx)
    for name in ("empty_tables", "make_held"):
        await tx.execute(_SQL[name])


async def stop_effects(tx: Tx) -> None:
    """Block commits of all consumers until the transaction ends. Call it first."""
    await tx.execute(_SQL["stop_effects"])


async def derive_files(tx: Tx) -> None:
    """Rebuild references, files and counts from the stored pictures.

    The next check of the bucket records files without a reference, and their grace time starts again.
    """
    for name in ("empty_files", "make_references"):
        await tx.execute(_SQL[name])
    await tx.execute(_SQL["count_usage"], {"slots": SLOTS})


async def add_rows(tx: Tx, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Add rows to an empty table."""
    async with tx.cursor() as cursor, cursor.copy(_for(table, _COPY, columns)) as copy:
        for row in rows:
            await copy.write_row(row)


async def add_missing_rows(tx: Tx, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Add rows whose keys the table lacks."""
    await tx.execute(_for(table, _MAKE_INCOMING))
    await add_rows(tx, _INCOMING, columns, rows)
    await tx.execute(_for(table, _TAKE_INCOMING))
    await tx.execute(_DROP_INCOMING)


async def join_rows(tx: Tx) -> list[tuple[str, bool]]:
    """Rebuild references, files and counts from the stored pictures that states hold, and remove the others.

    Returns:
        URLs whose held picture is not stored, each with whether it was put.
    """
    await tx.execute(_SQL["drop_unheld"])
    lost = await (await tx.execute(_SQL["list_lost"])).fetchall()
    await tx.execute(_SQL["make_references"])
    await tx.execute(_SQL["count_usage"], {"slots": SLOTS})
    await tx.execute(_SQL["analyze"])
    await tx.execute(_SQL["drop_held"])
    return [(url, is_put) for url, is_put in lost]


async def set_stands(tx: Tx, exact: Sequence[Stand], least: Sequence[Stand]) -> None:
    """Set the positions of groups: exact ones, and lower bounds."""
    await tx.execute(_SQL["set_stands"], _columns(exact))
    await tx.execute(_SQL["raise_stands"], _columns(least))


def _for(table: str, statement: sql.SQL, columns: Sequence[str] = ()) -> sql.Composed:
    named = sql.SQL(", ").join(map(sql.Identifier, columns))
    return statement.format(table=sql.Identifier(table), columns=named)


def _columns(stands: Sequence[Stand]) -> dict[str, list[Any]]:
    return {
        "groups": [stand.group for stand in stands],
        "topics": [stand.topic for stand in stands],
        "partitions": [stand.partition for stand in stands],
        "topic_ids": [stand.topic_id for stand in stands],
        "nexts": [stand.next for stand in stands],
    }
