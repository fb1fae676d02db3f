"""Verdicts about texts of offers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.store.applying import forbid_scans

SQL: Final = load_queries(__package__, "judging.sql")


class Outcome(NamedTuple):
    """What became of an offer's text; `ban` is a Ban, None where it is approved."""

    external_id: str
    text_hash: bytes
    ban: bytes | None
    decided_at: datetime


async def apply_outcomes(tx: Tx, namespace: Namespace, outcomes: Sequence[Outcome], *, by: str) -> list[Any]:
    """Apply outcomes to those offers that still have these texts; return what changed, as rows by name."""
    parameters = {
        "seller": namespace.seller_id,
        "namespace": namespace.namespace,
        "external_ids": [it.external_id for it in outcomes],
        "text_hashes": [it.text_hash for it in outcomes],
        "bans": [it.ban for it in outcomes],
        "decided_at": [it.decided_at for it in outcomes],
        "moderation": by,
    }
    return await fetch_named(tx, SQL["apply_outcomes"], parameters)


async def find_unanswered(tx: Tx, *, wait_s: float, limit: int) -> dict[Namespace, list[str]]:
    """Return offers whose text has waited for longer than `wait_s`, by namespace."""
    rows = await (await tx.execute(SQL["find_unanswered"], {"wait_s": wait_s, "limit": limit})).fetchall()
    found: dict[Namespace, list[str]] = {}
    for seller_id, namespace, external_id in rows:
        found.setdefault(Namespace(seller_id, namespace), []).append(external_id)
    return found


async def next_content_version(tx: Tx) -> int:
    """Return the version of texts that are requested now. The caller holds the heads of their namespaces."""
    row = await (await tx.execute(SQL["next_content_version"])).fetchone()
    assert row is not None
    return int(row[0])


async def request_again(tx: Tx, namespace: Namespace, external_ids: Sequence[str], *, wait_s: float) -> list[Any]:
    """Note that texts are requested again; return those offers, as rows by name. The caller holds their head."""
    parameters = {
        "seller": namespace.seller_id,
        "namespace": namespace.namespace,
        "external_ids": list(external_ids),
        "wait_s": wait_s,
    }
    return await fetch_named(tx, SQL["request_again"], parameters)


async def count_unanswered(tx: Tx) -> tuple[int, float]:
    """Return how many texts wait for their verdict, and since how many seconds the oldest was requested.

    Belongs into a transaction, for the rest of which scans are forbidden.
    """
    await forbid_scans(tx)
    row = await (await tx.execute(SQL["count_unanswered"])).fetchone()
    assert row is not None
    return row[0], row[1]
