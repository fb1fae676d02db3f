"""Verdicts about texts of offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_offers.domain.offers import Namespace
from classifeed_offers.store.applying import forbid_scans
from classifeed_offers.store.republishing import OfferKey

_SQL: Final = load_queries(__package__, "judging.sql")


class Outcome(NamedTuple):
    """The outcome for an offer's text; `ban` is a serialized Ban, or None if the text is approved."""

    external_id: str
    text_hash: bytes
    ban: bytes | None
    decided_at: datetime


class AppliedDecision(NamedTuple):
    """Number of an applied decision, and the namespace of its text."""

    decision_id: int
    namespace: Namespace


async def apply_outcomes(tx: Tx, namespace: Namespace, outcomes: Sequence[Outcome], *, by: str) -> list[Any]:
    """Apply outcomes to the offers that still have these texts; return the changed offers as rows by name."""
    parameters = {
        "seller": namespace.seller_id,
        "namespace": namespace.namespace,
        "external_ids": [it.external_id for it in outcomes],
        "text_hashes": [it.text_hash for it in outcomes],
        "bans": [it.ban for it in outcomes],
        "decided_at": [it.decided_at for it in outcomes],
        "moderation": by,
    }
    return await fetch_named(tx, _SQL["apply_outcomes"], parameters)


async def list_unanswered(tx: Tx, *, wait_s: float, limit: int) -> dict[Namespace, list[str]]:
    """Return offers whose text has waited for longer than `wait_s`, by namespace."""
    rows = await (await tx.execute(_SQL["find_unanswered"], {"wait_s": wait_s, "limit": limit})).fetchall()
    found: dict[Namespace, list[str]] = {}
    for seller_id, namespace, external_id in rows:
        found.setdefault(Namespace(seller_id, namespace), []).append(external_id)
    return found


async def next_content_version(tx: Tx) -> int:
    """Return the version of texts that are requested now. The caller holds the heads of their namespaces."""
    row = await (await tx.execute(_SQL["next_content_version"])).fetchone()
    assert row is not None
    return int(row[0])


async def request_again(tx: Tx, namespace: Namespace, external_ids: Sequence[str], *, wait_s: float) -> list[Any]:
    """Record that texts are requested again; return their offers as rows by name. The caller holds their head."""
    parameters = {
        "seller": namespace.seller_id,
        "namespace": namespace.namespace,
        "external_ids": list(external_ids),
        "wait_s": wait_s,
    }
    return await fetch_named(tx, _SQL["request_again"], parameters)


async def count_unanswered(tx: Tx) -> tuple[int, float]:
    """Return the number of texts that await a verdict, and the seconds since the oldest request.

    Run it in its own transaction: it forbids scans for the rest of the transaction.
    """
    await forbid_scans(tx)
    row = await (await tx.execute(_SQL["count_unanswered"])).fetchone()
    assert row is not None
    return row[0], row[1]


async def note_applied(tx: Tx, newest: Mapping[int, AppliedDecision]) -> None:
    """Record the newest applied decision of each partition."""
    parameters = {
        "partitions": list(newest),
        "decision_ids": [each.decision_id for each in newest.values()],
        "sellers": [each.namespace.seller_id for each in newest.values()],
        "namespaces": [each.namespace.namespace for each in newest.values()],
    }
    await tx.execute(_SQL["note_applied"], parameters)


async def claim_checks(tx: Tx, *, period_s: float) -> list[AppliedDecision]:
    """Return decisions that were not checked for `period_s`; other processes skip them for the same time."""
    rows = await (await tx.execute(_SQL["claim_checks"], {"period_s": period_s})).fetchall()
    return [AppliedDecision(decision_id, Namespace(*namespace)) for *namespace, decision_id in rows]


async def forget_applied(tx: Tx, *, decision_id: int, kept_decision_id: int) -> bool:
    """Forget all decisions above a kept one if `decision_id` is among them; return whether it was."""
    parameters = {"decision_id": decision_id, "kept_decision_id": kept_decision_id}
    return (await tx.execute(_SQL["forget_applied"], parameters)).rowcount > 0


async def list_decided(tx: Tx, *, after: OfferKey, since: datetime, limit: int) -> list[tuple[OfferKey, bool]]:
    """Return the next offers by key, and whether each waits, or was decided or removed at `since` or later."""
    parameters = {**after._asdict(), "since": since, "limit": limit}
    rows = await (await tx.execute(_SQL["list_decided"], parameters)).fetchall()
    return [(OfferKey(*key), bool(is_wanted)) for *key, is_wanted in rows]


async def request_at_once(tx: Tx, namespace: Namespace, external_ids: Sequence[str], *, since: datetime) -> None:
    """Schedule the next round to request waiting texts, and to report texts that were removed at `since` or later.

    The caller holds their head.
    """
    parameters = {**_address(namespace), "external_ids": list(external_ids), "since": since}
    await tx.execute(_SQL["request_at_once"], parameters)


async def list_decided_texts(
    tx: Tx, namespace: Namespace, external_ids: Sequence[str], *, since: datetime
) -> list[Any]:
    """Return the texts that were decided at `since` or later, as rows by name. The caller holds their head."""
    parameters = {**_address(namespace), "external_ids": list(external_ids), "since": since}
    return await fetch_named(tx, _SQL["load_decided"], parameters)


def _address(namespace: Namespace) -> dict[str, str]:
    return {"seller": namespace.seller_id, "namespace": namespace.namespace}
