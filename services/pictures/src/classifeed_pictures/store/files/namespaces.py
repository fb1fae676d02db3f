"""Namespaces and their usage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from psycopg.types.json import Jsonb

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_pictures.domain.namespaces import Namespace, SizeRule

_SQL: Final = load_queries(__package__, "namespaces.sql")
SLOTS: Final = 16


async def put_namespace(tx: Tx, namespace: Namespace) -> None:
    """Create or change a namespace; idempotent."""
    parameters = {
        "name": namespace.name,
        "sizes": Jsonb([asdict(rule) for rule in namespace.sizes]),
        "formats": Jsonb(list(namespace.formats)),
        "quota_bytes": namespace.quota_bytes,
    }
    await tx.execute(_SQL["put_namespace"], parameters)


async def find_namespace(tx: Tx, name: str) -> Namespace | None:
    """Return a namespace, or None."""
    rows = await fetch_named(tx, _SQL["find_namespace"], {"name": name})
    return _namespace_of(rows[0]) if rows else None


async def list_namespaces(tx: Tx) -> Sequence[tuple[Namespace, int, int]]:
    """Return all namespaces by name, each with the number of its pictures and their bytes."""
    return [(_namespace_of(row), row.pictures, row.bytes) for row in await fetch_named(tx, _SQL["list_namespaces"])]


async def get_used_bytes(tx: Tx, namespace: str) -> int:
    """Return the size of all pictures of a namespace, in bytes."""
    [(_, used_bytes)] = await (await tx.execute(_SQL["read_usage"], {"namespace": namespace})).fetchall()
    return int(used_bytes)


async def add_usage(tx: Tx, namespace: str, group_id: int, *, pictures: int, size_bytes: int) -> None:
    """Add to the usage of a namespace; numbers may be negative."""
    parameters = {"namespace": namespace, "slot": group_id % SLOTS, "pictures": pictures, "bytes": size_bytes}
    await tx.execute(_SQL["add_usage"], parameters)


def _namespace_of(row: Any) -> Namespace:
    return Namespace(row.name, tuple(SizeRule(**rule) for rule in row.sizes), tuple(row.formats), row.quota_bytes)
