"""Rules of canonical URLs that have been in force."""

from __future__ import annotations

from typing import Final, NamedTuple

from psycopg.types.json import Jsonb

from classifeed_common.db import Tx, load_queries
from classifeed_pictures.domain.urls.canonical import CanonicalRules

SQL: Final = load_queries("classifeed_pictures.store", "canonical_rules.sql")
_KNOWN: Final = 16


class FoundRules(NamedTuple):
    """The rules in force.

    Attributes:
        rules_id: of the time that they have been in force.
        is_settled: whether all processes have known them for long enough to have used them.
        is_rekeyed: whether nothing was left under keys that they do not make.
    """

    rules_id: int
    is_settled: bool
    is_rekeyed: bool


async def note_rules(tx: Tx, rules: CanonicalRules, *, settle_s: float) -> FoundRules:
    """Note the rules in force, unless they are those that were noted last."""
    await tx.execute(SQL["note_rules"], {"version": rules.version, "document": Jsonb(rules.document)})
    row = await (await tx.execute(SQL["find_newest"], {"settle_s": settle_s})).fetchone()
    assert row is not None, "it was just noted"
    return FoundRules(*row)


async def note_rekeyed(tx: Tx, rules_id: int) -> None:
    """Note that nothing is left under keys that these rules do not make; all but the newest 16 are forgotten."""
    await tx.execute(SQL["note_rekeyed"], {"rules_id": rules_id})
    await tx.execute(SQL["forget_rules"], {"kept": _KNOWN})


async def note_not_rekeyed(tx: Tx) -> None:
    """Note that states may be under keys that the rules in force do not make, as those of a backup may be."""
    await tx.execute(SQL["note_not_rekeyed"])


async def list_rules(tx: Tx) -> list[CanonicalRules]:
    """Return the newest 16 that have been in force, the oldest first."""
    rows = await (await tx.execute(SQL["list_rules"], {"limit": _KNOWN})).fetchall()
    return [CanonicalRules.of(document) for (document,) in reversed(rows)]
