"""The table of texts."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_moderation.domain.decisions import Maker, Subject
from classifeed_moderation.domain.subjects import Kind, Status, Task, cache_key, hash_text
from classifeed_moderation.domain.verdicts import from_json

_SQL: Final = load_queries(__package__, "subjects.sql")


@dataclass(frozen=True, slots=True)
class NewSubject:
    """A new text of a point or comment."""

    key: str
    kind: Kind
    text: str
    region_ids: tuple[int, ...]
    status: Status

    @property
    def task(self) -> Task:
        """The text for the verdict service."""
        return Task(self.key, self.kind, self.text, hash_text(self.text), self.region_ids)


@dataclass(frozen=True, slots=True)
class DueText:
    """A claimed text."""

    task: Task
    cache_key: bytes
    is_recheck: bool


async def add_subjects(tx: Tx, subjects: Sequence[NewSubject], *, retry_s: float) -> set[str]:
    """Store new texts; return the keys that did not exist."""
    parameters = {
        "subject_keys": [subject.key for subject in subjects],
        "kinds": [subject.kind for subject in subjects],
        "texts": [subject.text for subject in subjects],
        "text_hashes": [hash_text(subject.text) for subject in subjects],
        "cache_keys": [cache_key(subject.kind, subject.region_ids, subject.text) for subject in subjects],
        "region_ids": [json.dumps(subject.region_ids) for subject in subjects],
        "statuses": [subject.status for subject in subjects],
        "retry_s": retry_s,
    }
    return {key for (key,) in await (await tx.execute(_SQL["add_subjects"], parameters)).fetchall()}


async def delete_subjects(tx: Tx, keys: Collection[str]) -> None:
    """Delete texts that nothing refers to any more."""
    await tx.execute(_SQL["delete_subjects"], {"subject_keys": list(keys)})


async def claim_due(tx: Tx, kind: Kind, *, limit: int, retry_s: float) -> list[DueText]:
    """Claim due texts, oldest first; other processes skip them for `retry_s`."""
    parameters = {"kind": kind, "limit": limit, "retry_s": retry_s}
    return [_due(row) for row in await fetch_named(tx, _SQL["claim_due"], parameters, prepare=False)]


async def list_sellers(tx: Tx, *, after: str, limit: int) -> list[str]:
    """Return the next sellers after `after` whose offers have waiting texts, due or not."""
    rows = await (await tx.execute(_SQL["list_sellers"], {"after": after, "limit": limit})).fetchall()
    return [seller_id for (seller_id,) in rows]


async def claim_shares(tx: Tx, seller_ids: Sequence[str], *, share: int, retry_s: float) -> list[DueText]:
    """Claim due texts of offers, oldest first, at most `share` for each of these sellers."""
    parameters = {"seller_ids": list(seller_ids), "share": share, "retry_s": retry_s}
    return [_due(row) for row in await fetch_named(tx, _SQL["claim_shares"], parameters, prepare=False)]


async def lock_keys(tx: Tx, keys: Collection[str]) -> None:
    """Lock texts in the order of their keys."""
    await tx.execute(_SQL["lock_keys"], {"subject_keys": list(keys)})


async def leave(tx: Tx, tasks: Sequence[Task], *, pending_s: float, further: Collection[str]) -> None:
    """Leave texts to people for `pending_s` if they still wait with the same content; close the reviews of the others.

    Args:
        tx: transaction of the texts.
        tasks: texts that people are reviewing.
        pending_s: seconds until the texts are requested again.
        further: keys of texts that the transaction locks later; locked here, so that all are locked in key order.
    """
    keys = [task.key for task in tasks]
    await lock_keys(tx, [*keys, *further])
    parameters = {
        "subject_keys": keys,
        "text_hashes": [task.text_hash for task in tasks],
        "sent_keys": [task.sent_key for task in tasks],
        "cache_keys": [cache_key(task.kind, task.region_ids, task.text) for task in tasks],
        "pending_s": pending_s,
    }
    await tx.execute(_SQL["leave"], parameters)


async def put_off(tx: Tx, delays_s: Mapping[str, float]) -> None:
    """Delay the next request of waiting texts by seconds, given by key; the texts are locked."""
    parameters = {"subject_keys": list(delays_s), "delays_s": list(delays_s.values())}
    await tx.execute(_SQL["put_off"], parameters)


async def release_same(tx: Tx, cache_keys: Collection[bytes], decided: Collection[str]) -> int:
    """Make waiting texts due that equal decided ones, except locked texts; return their number."""
    parameters = {"cache_keys": list(cache_keys), "subject_keys": list(decided)}
    return (await tx.execute(_SQL["release_same"], parameters)).rowcount


async def recheck(tx: Tx, keys: Sequence[str]) -> None:
    """Schedule texts for a new request to the verdict service."""
    await tx.execute(_SQL["recheck"], {"subject_keys": list(keys)})


async def lock_subjects(tx: Tx, keys: Collection[str]) -> dict[str, Subject]:
    """Lock texts and their points in the order of their keys, and return them by key."""
    rows = await fetch_named(tx, _SQL["lock_subjects"], {"subject_keys": sorted(keys)})
    point_ids = [UUID(row.subject_key) for row in rows if row.kind == Kind.POINT]
    points: dict[str, tuple[tuple[str, ...], str]] = {}
    if point_ids:
        found = await (await tx.execute(_SQL["lock_points"], {"point_ids": point_ids})).fetchall()
        points = {str(point_id): (tuple(tags), role) for point_id, tags, role in found}
    return {row.subject_key: _subject(row, *points.get(row.subject_key, ((), ""))) for row in rows}


async def find_subject(tx: Tx, key: str) -> Subject | None:
    """Return a text without the tags and the author's role of its point, or None."""
    rows = await fetch_named(tx, _SQL["find_subject"], {"subject_key": key})
    return _subject(rows[0]) if rows else None


async def list_pending(
    tx: Tx, kind: Kind, *, after: tuple[datetime | str, str], limit: int, region_id: int = 0, verdict: str = ""
) -> list[Subject]:
    """Return waiting texts of a kind after a place, in the order of their next request.

    Args:
        tx: transaction of the read.
        kind: kind of the texts.
        after: time and key of the last text of the page before.
        limit: maximum number of texts.
        region_id: region of the texts; 0: all.
        verdict: name of a verdict that the texts have; empty: all.
    """
    parameters = {
        "kind": kind,
        "after_retry": after[0],
        "after_key": after[1],
        "limit": limit,
        "region_id": region_id,
        "verdict": verdict,
    }
    return [_subject(row) for row in await fetch_named(tx, _SQL["list_pending"], parameters)]


async def count_waiting(tx: Tx) -> dict[Kind, tuple[int, float]]:
    """Return the number of waiting texts of each kind, and the age of the oldest in seconds."""
    rows = await (await tx.execute(_SQL["count_waiting"])).fetchall()
    return {Kind(kind): (count, age_s) for kind, count, age_s in rows}


def _due(row: Any) -> DueText:
    task = Task(row.subject_key, Kind(row.kind), row.text, row.text_hash, tuple(row.region_ids))
    return DueText(task, row.cache_key, row.is_recheck)


def _subject(row: Any, tags: tuple[str, ...] = (), author_role: str = "") -> Subject:
    return Subject(
        key=row.subject_key,
        kind=Kind(row.kind),
        text=row.text,
        title_chars=row.title_chars,
        text_hash=row.text_hash,
        cache_key=row.cache_key,
        content_version=row.content_version,
        region_ids=tuple(row.region_ids),
        status=Status(row.status),
        started=row.started,
        next_retry=row.next_retry,
        verdicts=from_json(row.verdicts),
        decision_id=row.decision_id,
        decided_by=Maker(row.decided_by) if row.decided_by else None,
        tags=tags,
        author_role=author_role,
        address=(row.seller_id, row.namespace, row.external_id) if row.kind == Kind.OFFER else None,
    )
