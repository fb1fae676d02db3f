"""Find documents in abandoned epochs: no search finds them, and only their client can push them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from classifeed_common.db import Database
from classifeed_receiver.store import registry, schemas

_COUNTED_AT_MOST: Final = 100_000


async def list_abandoned(database: Database) -> Mapping[str, str]:
    """Return, by client, a message with the number of documents in abandoned epochs and the fix; for `Watch`.

    Scans the registry only if a client has such epochs. Earlier releases accepted the schema of a second epoch that
    could not be activated.
    """
    found = {}
    async with database.connection() as connection:
        for client in await schemas.list_clients(connection):
            epochs = await schemas.list_epochs(connection, client)
            if not epochs.abandoned:
                continue
            count = await registry.count_abandoned(connection, client, epochs.abandoned, _COUNTED_AT_MOST)
            if count:
                numbers = ", ".join(map(str, sorted(epochs.abandoned)))
                found[client] = (
                    f"{count} documents are stored in epoch {numbers}, which was abandoned, so searches do not find "
                    f"them: have all documents of {client} pushed again (offers: `classifeed index republish`)"
                )
    return found
