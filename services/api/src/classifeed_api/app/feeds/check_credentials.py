"""Finds feeds whose credentials cannot be decrypted with the keys of this installation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from classifeed_api.store import feeds
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.db import Database

_NAMED: Final = 5


async def check_credentials(database: Database, cipher: CredentialCipher | None) -> Mapping[str, str]:
    """Return the problem and its fix; empty if the keys decrypt the credentials of all feeds."""
    if cipher is None:
        return {}
    async with database.transaction() as tx:
        found, count = await feeds.list_unreadable(tx, cipher.prefixes, limit=_NAMED)
    if not found:
        return {}
    names = ", ".join(key.name for key in found) + (f" and {count - _NAMED} more" if count > _NAMED else "")
    return {
        "credentials": (
            f"The key that encrypted the credentials of {names} is not in the file of keys (seal.keys), so these feeds "
            "are not fetched. Add the lost key to the file as a further line and restart the api and the loader, or "
            "enter the credentials of these feeds again (`classifeed feed update`)."
        )
    }
