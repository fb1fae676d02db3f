"""The table of decisions, and verdicts that are kept for equal texts."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_moderation.domain.decisions import Decision, Maker
from classifeed_moderation.domain.subjects import Kind
from classifeed_moderation.domain.verdicts import VerdictList, from_json, to_json

_SQL: Final = load_queries(__package__, "decisions.sql")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A stored decision with its number, times, maker and rules."""

    decision: Decision
    decision_id: int
    decided_at: datetime
    recorded_at: datetime
    rule_set: str
    maker: Maker
    reviewer: str = ""
    request_id: str = ""


async def record(
    tx: Tx,
    decisions: Sequence[Decision],
    *,
    rule_set: str,
    maker: Maker,
    decided_at: datetime,
    reviewer: str = "",
    request_ids: Mapping[str, str] | None = None,
) -> list[Recorded]:
    """Record decisions about locked texts, one for each, and change texts and points accordingly, in one statement."""
    ids = request_ids or {}
    rows = [
        _row(decision, rule_set=rule_set, maker=maker, reviewer=reviewer)
        | {"request_id": ids.get(decision.subject.key, "")}
        for decision in decisions
    ]
    parameters = {"decisions": json.dumps(rows), "decided_at": decided_at}
    stored = {row.subject_key: row for row in await fetch_named(tx, _SQL["record"], parameters)}
    return [
        Recorded(
            decision,
            found.decision_id,
            decided_at,
            found.recorded_at,
            rule_set,
            maker,
            reviewer,
            ids.get(decision.subject.key, ""),
        )
        for decision in decisions
        for found in (stored[decision.subject.key],)
    ]


async def list_repeated(tx: Tx, decisions: Sequence[Decision]) -> dict[str, float]:
    """Return the decisions that are not applied and were recorded before: the seconds since then, by key."""
    parameters = {
        "subject_keys": [decision.subject.key for decision in decisions],
        "text_hashes": [decision.subject.text_hash for decision in decisions],
        "supersedes_ids": [decision.subject.decision_id for decision in decisions],
        "reasons": [decision.not_applied for decision in decisions],
        "names": [json.dumps([verdict.name for verdict in decision.verdicts]) for decision in decisions],
    }
    return dict(await (await tx.execute(_SQL["list_repeated"], parameters)).fetchall())


async def list_times(tx: Tx, decision_ids: Collection[int]) -> dict[int, datetime]:
    """Return the times when decisions were recorded, by number."""
    parameters = {"decision_ids": list(decision_ids)}
    return dict(await (await tx.execute(_SQL["list_times"], parameters)).fetchall())


async def list_lost(tx: Tx, decision_ids: Collection[int], *, kept_days: int) -> dict[int, int]:
    """Return the numbers without a decision, each with the newest decision number below it; 0: there is none.

    Args:
        tx: transaction of the read.
        decision_ids: numbers of decisions.
        kept_days: days that decisions are kept; older numbers are not looked up.
    """
    parameters = {"decision_ids": list(decision_ids), "kept_days": kept_days}
    return dict(await (await tx.execute(_SQL["list_lost"], parameters)).fetchall())


async def keep_verdicts(tx: Tx, verdicts: Mapping[bytes, VerdictList]) -> None:
    """Keep complete verdicts for equal texts."""
    keys = sorted(verdicts)
    parameters = {
        "cache_keys": keys,
        "verdicts": [json.dumps(to_json(verdicts[key].verdicts)) for key in keys],
        "are_from_people": [verdicts[key].is_from_people for key in keys],
    }
    await tx.execute(_SQL["keep_verdicts"], parameters)


async def list_kept(tx: Tx, cache_keys: Collection[bytes], *, age_s: float) -> dict[bytes, VerdictList]:
    """Return kept verdicts for these texts that are at most `age_s` seconds old."""
    parameters = {"cache_keys": list(cache_keys), "age_s": age_s}
    rows = await (await tx.execute(_SQL["list_kept"], parameters)).fetchall()
    return {
        key: VerdictList(from_json(verdicts), has_end=True, is_ended_by_people=is_from_people)
        for key, verdicts, is_from_people in rows
    }


async def list_decisions(tx: Tx, *, after: int, limit: int, key: str | None = None) -> list[Any]:
    """Return decisions after a number in order, as rows by name; only those about one text if `key` is given."""
    return await fetch_named(tx, _SQL["list_decisions"], {"after": after, "limit": limit, "subject_key": key})


async def find_decision(tx: Tx, decision_id: int) -> Any:
    """Return a decision as a row by name, or None."""
    rows = await fetch_named(tx, _SQL["find_decision"], {"decision_id": decision_id})
    return rows[0] if rows else None


def _row(decision: Decision, *, rule_set: str, maker: Maker, reviewer: str) -> dict[str, Any]:
    subject, judgement = decision.subject, decision.judgement
    is_point = subject.kind is Kind.POINT
    return {
        "subject_key": subject.key,
        "kind": subject.kind,
        "content_version": subject.content_version,
        "text_hash": subject.text_hash.hex(),
        "region_ids": list(subject.region_ids),
        "status": judgement.status,
        "verdicts": to_json(decision.verdicts),
        "rule": judgement.rule,
        "rule_set": rule_set,
        "region_id": judgement.region_id,
        "maker": maker,
        "reviewer": reviewer,
        "is_automatic": decision.is_automatic,
        "is_applied": decision.is_applied,
        "not_applied_reason": decision.not_applied or "",
        "supersedes_id": subject.decision_id,
        "tags_before": list(subject.tags) if is_point else None,
        "tags_after": list(judgement.tags if decision.is_applied else subject.tags) if is_point else None,
        "started": subject.started.isoformat() if decision.is_applied and decision.is_first else None,
    }
