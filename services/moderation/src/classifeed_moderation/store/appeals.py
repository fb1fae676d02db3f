"""The table of appeals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named

_SQL: Final = load_queries(__package__, "appeals.sql")


async def find_author(tx: Tx, key: str) -> str | None:
    """Return the person who may appeal for a text, or None."""
    row = await (await tx.execute(_SQL["find_author"], {"subject_key": key})).fetchone()
    return row[0] if row else None


async def add_appeal(tx: Tx, *, key: str, decision_id: int, author_id: str, reason: str) -> bool:
    """Store an appeal; return False if the decision has one."""
    parameters = {"subject_key": key, "decision_id": decision_id, "author_id": author_id, "reason": reason}
    return (await tx.execute(_SQL["add_appeal"], parameters)).rowcount > 0


async def find_appeal(tx: Tx, *, appeal_id: int = 0, decision_id: int = 0) -> Any:
    """Return an appeal with its outcome, by its number or by the decision that it is against, as a row by name."""
    rows = await fetch_named(tx, _SQL["find_appeal"], {"appeal_id": appeal_id, "decision_id": decision_id})
    return rows[0] if rows else None


async def list_open(tx: Tx, *, after: int, limit: int) -> list[Any]:
    """Return open appeals after a number in order, as rows by name."""
    return await fetch_named(tx, _SQL["list_open"], {"after": after, "limit": limit})


async def count_open(tx: Tx, author_id: str, *, is_seller: bool) -> int:
    """Return the number of open appeals of a seller, or of an author of points and comments."""
    parameters = {"author_id": author_id, "is_seller": is_seller}
    row = await (await tx.execute(_SQL["count_open_of"], parameters)).fetchone()
    return row[0] if row else 0


async def lock_appeal(tx: Tx, appeal_id: int) -> Any:
    """Return an appeal as a row by name, locked, or None."""
    rows = await fetch_named(tx, _SQL["lock_appeal"], {"appeal_id": appeal_id})
    return rows[0] if rows else None


async def list_outcomes(tx: Tx, key: str, decision_id: int) -> list[Any]:
    """Return the decisions of reviewers that replaced a decision, as rows by name."""
    return await fetch_named(tx, _SQL["list_outcomes"], {"subject_key": key, "decision_id": decision_id})


async def list_deciders(tx: Tx, key: str, text_hash: bytes) -> Sequence[str]:
    """Return the people who have decided about a text, as their names were spelled then."""
    rows = await (await tx.execute(_SQL["list_deciders"], {"subject_key": key, "text_hash": text_hash})).fetchall()
    return [name for (name,) in rows]


async def end_appeal(tx: Tx, appeal_id: int, *, reviewer: str, response: str) -> None:
    """Record that a reviewer has decided an appeal, with sentences for the author."""
    await tx.execute(_SQL["end_appeal"], {"appeal_id": appeal_id, "reviewer": reviewer, "response": response})
