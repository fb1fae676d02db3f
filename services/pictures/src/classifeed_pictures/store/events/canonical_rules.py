"""Rules of canonical URLs that have been in force."""

from __future__ import annotations

from typing import Final, NamedTuple

from psycopg.types.json import Jsonb

from classifeed_common.db import Tx, load_queries
from classifeed_pictures.domain.urls.canonical import CanonicalRules

_SQL: Final = load_queries(__package__, "canonical_rules.sql")
_KNOWN: Final = 16


class FoundRules(NamedTuple):
    """The rules in force.

    Attributes:
        rules_id: id of the row, one per period in force.
        is_settled: whether all processes have had them long enough to have used them.
        is_rekeyed: whether no state is left under a key that they do not make.
    """

    rules_id: int
    is_settled: bool
    is_rekeyed: bool


async def note_rules(tx: Tx, rules: CanonicalRules, *, settle_s: float) -> FoundRules:
    """Record the rules in force, unless they are the last recorded ones."""
    await tx.execute(_SQL["note_rules"], {"version": rules.version, "document": Jsonb(rules.document)})
    row = await (await tx.execute(_SQL["find_newest"], {"settle_s": settle_s})).fetchone()
    assert row is not None, "it was just noted"
    return FoundRules(*row)


async def note_rekeyed(tx: Tx, rules_id: int) -> None:
    """Record that no state is left under a key that these rules do not make; keep only the newest 16 rules."""
    await tx.execute(_SQL["note_rekeyed"], {"rules_id": rules_id})
    await tx.execute(_SQL["forget_rules"], {"kept": _KNOWN})


async def note_not_rekeyed(tx: Tx) -> None:
    """Record that states may have keys that the rules in force do not make, for example after a restore."""
    await tx.execute(_SQL["note_not_rekeyed"])


async def list_rules(tx: Tx) -> list[CanonicalRules]:
    """Return the newest 16 rules that have been in force, oldest first."""
    rows = await (await tx.execute(_SQL["list_rules"], {"limit": _KNOWN})).fetchall()
    return [CanonicalRules.of(document) for (document,) in reversed(rows)]
