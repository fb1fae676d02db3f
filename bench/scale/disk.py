"""Bytes of an offer on disk: in each table and index, in the topics, and in the index of the search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.scale.installation import Installation

_TABLES: Final = {
    "offers": ("offers", "applied_batches"),
    "receiver": ("documents", "elements"),
}
_RELATIONS: Final = b"""
SELECT 'table', pg_table_size(c.oid) FROM pg_class c WHERE c.oid = to_regclass(%(table)s)
UNION ALL
SELECT i.indexrelid::regclass::text, pg_relation_size(i.indexrelid)
FROM pg_index i WHERE i.indrelid = to_regclass(%(table)s)
"""


def table_bytes(running: Installation) -> Iterator[tuple[str, float]]:
    """Yield the bytes of each table and index without bloat, divided by the offers (for `elements`, by its rows)."""
    for service, tables in _TABLES.items():
        connection = running.connection(service)
        offers = running.number(service, f"SELECT count(*) FROM {tables[0]}")
        for table in tables:
            connection.execute(f"VACUUM (FULL, ANALYZE) {table}".encode())
            rows = offers if table != "elements" else running.number(service, "SELECT count(*) FROM elements")
            for name, size in connection.execute(_RELATIONS, {"table": table}):
                yield f"{service}.{table}: {name}", int(str(size)) / rows


def topic_bytes(running: Installation, topic: str, records_each: float) -> float:
    """Return the bytes of an offer in a topic's log.

    Args:
        running: the installation.
        topic: the name of the topic.
        records_each: the number of offers that were sent to the topic.
    """
    folders = running.plan.layout.part("kafka").rglob(f"{topic}-*")
    return sum(file.stat().st_size for folder in folders for file in folder.glob("*.log")) / records_each
