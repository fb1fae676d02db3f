"""Finds stored pictures that no state holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_pictures.domain.lifecycle.states import Holding
from classifeed_pictures.store.states.damaged_rows import list_holdings

_SQL: Final = load_queries(__package__, "orphans.sql")


class Address(NamedTuple):
    """The address of a stored picture."""

    namespace: str
    group_id: int
    name: str


class StoredRow(NamedTuple):
    """A stored picture in a pass over all of them.

    Attributes:
        address: address of the picture.
        url_hash: hash of its URL.
        attempt: attempt that stored it last.
        is_old: whether it was stored so long ago that no download or copy is using it.
    """

    address: Address
    url_hash: bytes
    attempt: int
    is_old: bool


async def list_after(tx: Tx, after: Address, *, grace_s: float, limit: int) -> list[StoredRow]:
    """Return the next stored pictures after an address."""
    rows = await fetch_named(tx, _SQL["list_after"], after._asdict() | {"grace_s": grace_s, "limit": limit})
    return [
        StoredRow(Address(row.namespace, row.group_id, row.name), bytes(row.url_hash), row.attempt, row.is_old)
        for row in rows
    ]


async def share_holdings(tx: Tx, url_hashes: Collection[bytes]) -> dict[bytes, dict[str, Holding]]:
    """Return the holdings of URLs, locked against changes until the transaction ends."""
    rows = await fetch_named(tx, _SQL["share_states"], {"url_hashes": sorted(url_hashes)}, prepare=False)
    holdings, _ = await list_holdings(tx, rows)
    return holdings


async def lock_orphans(tx: Tx, orphans: Sequence[StoredRow], *, grace_s: float) -> list[tuple[Address, int]]:
    """Lock those that are unchanged; return address and attempt of each."""
    parameters: dict[str, Any] = {
        "namespaces": [orphan.address.namespace for orphan in orphans],
        "group_ids": [orphan.address.group_id for orphan in orphans],
        "names": [orphan.address.name for orphan in orphans],
        "attempts": [orphan.attempt for orphan in orphans],
        "grace_s": grace_s,
    }
    rows = await fetch_named(tx, _SQL["lock_orphans"], parameters, prepare=False)
    return [(Address(row.namespace, row.group_id, row.name), row.attempt) for row in rows]
