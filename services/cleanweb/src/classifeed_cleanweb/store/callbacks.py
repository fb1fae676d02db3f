"""The table of callbacks."""

from __future__ import annotations

from typing import Any, Final

from classifeed_cleanweb.store.reviews import Reviewed
from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named

_SQL: Final = load_queries(__package__, "callbacks.sql")


async def add_callback(tx: Tx, service: str, environment: str, key: str, reviewed: Reviewed) -> int:
    """Store a callback and return its number."""
    parameters = {
        "service": service,
        "environment": environment,
        "key": key,
        "verdicts": list(reviewed.verdicts),
        "reviewers": list(reviewed.reviewers),
    }
    row = await (await tx.execute(_SQL["add_callback"], parameters)).fetchone()
    assert row is not None
    return int(row[0])


async def list_up_to(tx: Tx, callback_id: int, *, give_up_s: float) -> list[Any]:
    """Return a callback after the older ones of its key, as rows by name; empty if it was delivered.

    `is_late` of a row says whether it has been retried for `give_up_s`.
    """
    return await fetch_named(tx, _SQL["list_up_to"], {"callback_id": callback_id, "give_up_s": give_up_s})


async def delete_callback(tx: Tx, callback_id: int) -> None:
    """Delete a delivered callback."""
    await tx.execute(_SQL["delete_callback"], {"callback_id": callback_id})


async def note_fault(tx: Tx, callback_id: int, fault: str) -> None:
    """Record the fault of the last attempt."""
    await tx.execute(_SQL["note_fault"], {"callback_id": callback_id, "fault": fault})


async def give_up(tx: Tx, callback_id: int) -> None:
    """Record that a callback is no longer retried."""
    await tx.execute(_SQL["give_up"], {"callback_id": callback_id})


async def list_callbacks(tx: Tx, *, given_up: bool, after: int, limit: int) -> list[Any]:
    """Return callbacks after a number, as rows by name."""
    return await fetch_named(tx, _SQL["list_callbacks"], {"given_up": given_up, "after": after, "limit": limit})


async def list_undelivered(tx: Tx, *, age_s: float, after: int, limit: int) -> list[Any]:
    """Return callbacks after a number that have waited for `age_s` seconds, as rows by name."""
    return await fetch_named(tx, _SQL["list_undelivered"], {"age_s": age_s, "after": after, "limit": limit})


async def take_given_up(tx: Tx, callback_id: int) -> list[Any]:
    """Reset given-up callbacks, one or all (0), to be sent again; return them as rows by name."""
    return await fetch_named(tx, _SQL["take_given_up"], {"callback_id": callback_id})


async def count_callbacks(tx: Tx) -> tuple[int, int, float]:
    """Return the number of callbacks, the number of given-up ones, and the age of the oldest in seconds."""
    row = await (await tx.execute(_SQL["count_callbacks"])).fetchone()
    assert row is not None
    return row[0], row[1], row[2]
