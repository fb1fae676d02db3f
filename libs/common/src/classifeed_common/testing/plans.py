"""Plans of statements, for tests that no hot statement reads a table from end to end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from classifeed_common.db import Tx

Node = dict[str, Any]


async def explain(connection: Tx, statement: str, parameters: Mapping[str, Any]) -> list[Node]:
    """Return the nodes of a statement's plan, as EXPLAIN (FORMAT JSON) has them, each before those below it."""
    row = await (await connection.execute("EXPLAIN (FORMAT JSON) " + statement, parameters)).fetchone()
    assert row is not None
    plan = row[0] if isinstance(row[0], list) else json.loads(row[0])
    return _list_nodes(plan[0]["Plan"])


async def scanned_tables(connection: Tx, statement: str, parameters: Mapping[str, Any]) -> set[str]:
    """Return the tables that a statement's plan reads from end to end."""
    nodes = await explain(connection, statement, parameters)
    return {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}


def _list_nodes(node: Node) -> list[Node]:
    return [node, *(below for child in node.get("Plans", ()) for below in _list_nodes(child))]
