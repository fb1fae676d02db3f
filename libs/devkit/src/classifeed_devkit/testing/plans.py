"""Query plans, for tests that no frequent statement scans a whole table."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from psycopg import sql

from classifeed_common.db import Tx

Node = dict[str, Any]
_PARAMETER: Final = re.compile(r"%\((\w+)\)[sb]")


async def explain(connection: Tx, statement: str, parameters: Mapping[str, Any]) -> list[Node]:
    """Return the nodes of a statement's plan from EXPLAIN (FORMAT JSON), each before its children."""
    row = await (await connection.execute("EXPLAIN (FORMAT JSON) " + statement, parameters)).fetchone()
    assert row is not None
    plan = row[0] if isinstance(row[0], list) else json.loads(row[0])
    return _list_nodes(plan[0]["Plan"])


async def rows_handled(connection: Tx, statement: str, parameters: Mapping[str, Any], *, is_generic: bool) -> int:
    """Run a statement, and return how many rows the nodes of its plan handled, including filtered ones.

    Args:
        connection: open transaction.
        statement: SQL.
        parameters: parameters of the statement.
        is_generic: whether to use the plan for any parameters, to which PostgreSQL switches at the sixth execution of a
            prepared statement, and which assumes ten elements per array; otherwise the plan for these parameters.
    """
    names = list(dict.fromkeys(_PARAMETER.findall(statement)))
    numbered = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", statement)
    mode = "force_generic_plan" if is_generic else "force_custom_plan"
    await connection.execute("SELECT set_config('plan_cache_mode', %s, true)", [mode])
    await connection.execute(sql.SQL("PREPARE handled AS " + numbered.replace("%", "%%")))
    try:
        values = sql.SQL(", ").join(sql.Literal(parameters[name]) for name in names)
        execute = sql.SQL("EXECUTE handled ({})").format(values) if names else sql.SQL("EXECUTE handled")
        analyze = sql.SQL("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ")
        row = await (await connection.execute(analyze + execute)).fetchone()
    finally:
        await connection.execute("DEALLOCATE handled")
    assert row is not None
    plan = row[0] if isinstance(row[0], list) else json.loads(row[0])
    return sum(_rows_of(node) for node in _list_nodes(plan[0]["Plan"]))


@dataclass(frozen=True, slots=True)
class Hot:
    """A frequent statement.

    Attributes:
        sql: the statement.
        parameters: parameters of the statement.
        most: rows that it may handle.
        is_prepared: whether connections prepare it, so that PostgreSQL also uses its generic plan.
        before: executed before the statement, such as settings of the planner.
    """

    sql: str
    parameters: Mapping[str, Any]
    most: int
    is_prepared: bool = True
    before: Callable[[Tx], Awaitable[None]] | None = None


async def list_costly(tx: Tx, statements: Mapping[str, Hot]) -> dict[tuple[str, bool], int]:
    """Run statements, each with its own and with its generic plan, and undo it; return those that handle too many rows.

    Fill the tables in the same transaction: autovacuum does not see the rows then, and statistics stay old.

    Returns:
        The number of handled rows, by the name of the statement and whether the plan is the generic one.
    """
    costly: dict[tuple[str, bool], int] = {}
    for name, hot in statements.items():
        for is_generic in (False, True) if hot.is_prepared else (False,):
            async with tx.transaction(force_rollback=True):
                if hot.before is not None:
                    await hot.before(tx)
                handled = await rows_handled(tx, hot.sql, hot.parameters, is_generic=is_generic)
            if handled > hot.most:
                costly[name, is_generic] = handled
    return costly


async def rows_scanned(tx: Tx, table: str) -> int:
    """Return how many rows of a table the transaction's statements have read by sequential scans."""
    query = "SELECT seq_tup_read FROM pg_stat_xact_user_tables WHERE relid = %s::regclass"
    row = await (await tx.execute(query, [table])).fetchone()
    return int(row[0]) if row else 0


def _rows_of(node: Node) -> int:
    left_out = sum(float(value) for name, value in node.items() if name.startswith("Rows Removed by"))
    return round((float(node["Actual Rows"]) + left_out) * int(node["Actual Loops"]))


async def scanned_tables(connection: Tx, statement: str, parameters: Mapping[str, Any]) -> set[str]:
    """Return the tables that a statement's plan scans sequentially."""
    nodes = await explain(connection, statement, parameters)
    return {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}


def _list_nodes(node: Node) -> list[Node]:
    return [node, *(below for child in node.get("Plans", ()) for below in _list_nodes(child))]
