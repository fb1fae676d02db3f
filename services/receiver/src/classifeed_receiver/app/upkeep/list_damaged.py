"""Find damaged rows of the registry; only another push by their client repairs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from classifeed_common.db import Database
from classifeed_receiver.metrics import DAMAGED
from classifeed_receiver.store import registry

_COUNTED_AT_MOST: Final = 10_000
_NAMED: Final = 5


async def list_damaged(database: Database) -> Mapping[str, str]:
    """Return, by client, a message with the number of damaged rows, the first keys and the fix; for `Watch`.

    Sets the gauge of damaged rows, too.
    """
    async with database.connection() as connection:
        found = await registry.count_damaged(connection, keys=_NAMED, bound=_COUNTED_AT_MOST)
    DAMAGED.clear()
    for client, (count, _) in found.items():
        DAMAGED.labels(client).set(count)
    return {f"damaged rows of {client}": _describe(client, count, pks) for client, (count, pks) in found.items()}


def _describe(client: str, count: int, pks: list[str]) -> str:
    keys = ", ".join(pks) + (", and others" if count > len(pks) else "")
    fix = "`classifeed index republish` pushes all offers" if client == "offers" else "changing the document pushes it"
    return (
        f"{count} rows of the registry are damaged ({keys}). They were left out of indexes and comparisons. Push these "
        f"documents again: an equal or newer version replaces the row ({fix}). Check the disk of the database"
    )
