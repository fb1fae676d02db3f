"""Rules of robots.txt, shared by all processes."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named

_SQL: Final = load_queries(__package__, "robots.sql")


class KnownRules(NamedTuple):
    """The known rules of a host.

    Attributes:
        is_claimed: whether the caller has to fetch the rules now, and no other process does.
        is_fresh: whether they are in force.
        rules: text of robots.txt at the last fetch; None: it was never fetched.
        is_reachable: whether the host responded at the last attempt.
    """

    is_claimed: bool
    is_fresh: bool
    rules: str | None
    is_reachable: bool


async def claim_rules(tx: Tx, origin: str, *, claim_s: float) -> KnownRules:
    """Return the rules of a host, or a claim to fetch them that expires after `claim_s` seconds."""
    [row] = await fetch_named(tx, _SQL["claim_rules"], {"origin": origin, "claim_s": claim_s})
    return KnownRules(row.is_claimed, row.is_fresh, row.rules, bool(row.is_reachable))


async def save_rules(tx: Tx, origin: str, rules: str | None, *, fresh_s: float) -> None:
    """Store rules that were fetched under a claim; None: the host cannot be reached, and older rules stay."""
    parameters = {"origin": origin, "rules": rules, "is_reachable": rules is not None, "fresh_s": fresh_s}
    await tx.execute(_SQL["save_rules"], parameters)


async def give_claim_back(tx: Tx, origin: str) -> None:
    """Release the claim, so that another process can fetch the rules."""
    await tx.execute(_SQL["give_claim_back"], {"origin": origin})


async def delete_old_rules(tx: Tx, *, before: datetime, limit: int) -> int:
    """Delete rules that have not been in force since a time; return their number."""
    return (await tx.execute(_SQL["delete_old_rules"], {"before": before, "limit": limit}, prepare=False)).rowcount
