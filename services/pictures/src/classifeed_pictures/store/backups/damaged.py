"""Pictures whose files are damaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from classifeed_common.db import Tx, load_queries

_SQL: Final = load_queries(__package__, "damaged.sql")


async def list_users(tx: Tx, sha256s: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the pictures that need files with these hashes, as pairs of URL and `is_put`."""
    cursor = await tx.execute(_SQL["find_users"], {"sha256s": list(sha256s)})
    return await cursor.fetchall()
