"""The tables of requests, reviews and opinions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from typing import Any, Final, NamedTuple

from classifeed_common.db import Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_common.rpc.own_names import earlier_spellings

_SQL: Final = load_queries(__package__, "reviews.sql")


class NewRequest(NamedTuple):
    """A text for review by people."""

    service: str
    environment: str
    key: str
    text: str
    text_hash: bytes
    cache_key: bytes


class Reviewed(NamedTuple):
    """Verdicts of people about a text, and the reviewers who have given an opinion about it."""

    verdicts: tuple[str, ...]
    reviewers: tuple[str, ...]


class ClaimedReview(NamedTuple):
    """A text that is leased to a reviewer until `leased_until`."""

    review_id: int
    project: str
    text: str
    leased_until: datetime


class Addressee(NamedTuple):
    """Receiver of the verdicts about a text, and the key of the text."""

    service: str
    environment: str
    key: str


class Opinion(NamedTuple):
    """The verdicts that a reviewer has chosen."""

    reviewer: str
    verdicts: frozenset[str]


class QueueFigures(NamedTuple):
    """Figures of waiting texts in a project."""

    project: str
    waiting: int
    oldest_s: float
    reviewers: int
    late: int


class DayFigures(NamedTuple):
    """Number of opinions in a project on a day."""

    day: date
    project: str
    opinions: int


async def list_kept(tx: Tx, cache_keys: Sequence[bytes], *, age_s: float) -> dict[bytes, Reviewed]:
    """Return verdicts of people about equal texts that are at most `age_s` seconds old."""
    parameters = {"cache_keys": list(cache_keys), "age_s": age_s}
    rows = await (await tx.execute(_SQL["list_kept"], parameters)).fetchall()
    return {cache_key: Reviewed(tuple(verdicts), tuple(reviewers)) for cache_key, verdicts, reviewers in rows}


async def lock_texts(tx: Tx, cache_keys: Collection[bytes]) -> None:
    """Lock texts until the end of the transaction: equal texts share reviews. Call it once with all texts."""
    await tx.execute(_SQL["lock_texts"], {"cache_keys": sorted(set(cache_keys))})


async def open_request(tx: Tx, request: NewRequest, projects: Sequence[str]) -> bool:
    """Open a request about a locked text; return True if it opened reviews, False if it joined an equal text's."""
    parameters = request._asdict() | {"projects": list(projects)}
    await tx.execute(_SQL["open_request"], parameters)
    return (await tx.execute(_SQL["add_reviews"], parameters)).rowcount > 0


async def claim_review(tx: Tx, project: str, reviewer: str, *, lease_s: float, after: int = 0) -> ClaimedReview | None:
    """Lease a text of a project to a reviewer: the text that the reviewer holds, otherwise the oldest free one.

    Only reviews after `after` are considered. The reviewer's other leases in the project end. Return None if no text
    waits for the reviewer.
    """
    parameters = {
        "project": project,
        "reviewer": reviewer,
        "spellings": earlier_spellings(reviewer),
        "lease_s": lease_s,
        "after": after,
    }
    await tx.execute(_SQL["lock_reviewer"], parameters)
    row = None
    for statement in ("renew_lease", "claim_review"):
        row = row or await (await tx.execute(_SQL[statement], parameters)).fetchone()
    claimed = ClaimedReview(*row) if row is not None else None
    await tx.execute(_SQL["end_leases"], parameters | {"review_id": claimed.review_id if claimed is not None else 0})
    return claimed


async def lock_text_of(tx: Tx, review_id: int) -> bool:
    """Lock the text of a review; return False if there is no such review."""
    row = await (await tx.execute(_SQL["find_text"], {"review_id": review_id})).fetchone()
    if row is not None:
        await lock_texts(tx, [row[0]])
    return row is not None


async def lock_review(tx: Tx, review_id: int) -> Any:
    """Return a review as a row by name, locked, or None."""
    rows = await fetch_named(tx, _SQL["lock_review"], {"review_id": review_id})
    return rows[0] if rows else None


async def give_back(tx: Tx, review_id: int, reviewer: str) -> bool:
    """End the lease of a reviewer; return False if there is none."""
    parameters = {"review_id": review_id, "spellings": earlier_spellings(reviewer)}
    return (await tx.execute(_SQL["give_back"], parameters)).rowcount > 0


async def add_opinion(tx: Tx, review_id: int, opinion: Opinion) -> None:
    """Store an opinion, and end the lease of the review."""
    parameters = {"review_id": review_id, "reviewer": opinion.reviewer, "verdicts": sorted(opinion.verdicts)}
    await tx.execute(_SQL["add_opinion"], parameters)
    await tx.execute(_SQL["free_review"], {"review_id": review_id})


async def list_opinions(tx: Tx, review_id: int) -> list[Opinion]:
    """Return the opinions of a review in their order."""
    rows = await (await tx.execute(_SQL["list_opinions"], {"review_id": review_id})).fetchall()
    return [Opinion(reviewer, frozenset(verdicts)) for reviewer, verdicts in rows]


async def end_review(tx: Tx, review_id: int, verdicts: Collection[str]) -> None:
    """End a review."""
    await tx.execute(_SQL["end_review"], {"review_id": review_id, "verdicts": sorted(verdicts)})


async def lock_request(tx: Tx, request_id: int) -> Any:
    """Return a request as a row by name, locked."""
    [row] = await fetch_named(tx, _SQL["lock_request"], {"request_id": request_id})
    return row


async def find_reviewed(tx: Tx, request_id: int) -> Reviewed | None:
    """Return the joint verdicts of all reviews of a request; None while a review is open."""
    rows = await (await tx.execute(_SQL["list_ended"], {"request_id": request_id})).fetchall()
    if any(verdicts is None for (verdicts,) in rows):
        return None
    reviewers = await (await tx.execute(_SQL["list_reviewers"], {"request_id": request_id})).fetchall()
    together = sorted({verdict for (verdicts,) in rows for verdict in verdicts})
    return Reviewed(tuple(together), tuple(reviewer for (reviewer,) in reviewers))


async def end_requests(tx: Tx, cache_key: bytes, reviewed: Reviewed) -> list[Addressee]:
    """End all open requests about equal texts, and keep the verdicts; return the receivers, oldest request first."""
    rows = sorted(await (await tx.execute(_SQL["end_requests"], {"cache_key": cache_key})).fetchall())
    await tx.execute(_SQL["close_reviews"], {"request_ids": [row[0] for row in rows]})
    parameters = {
        "cache_key": cache_key,
        "verdicts": list(reviewed.verdicts),
        "reviewers": list(reviewed.reviewers),
    }
    await tx.execute(_SQL["keep_verdicts"], parameters)
    return [Addressee(*row[1:]) for row in rows]


async def withdraw_requests(tx: Tx, service: str, environment: str, keys: Sequence[str]) -> set[str]:
    """End the open requests of keys without a callback; return the keys that had one.

    A review continues if an equal text of another key needs it; the others end.
    """
    parameters = {"service": service, "environment": environment, "keys": list(keys)}
    found = [cache_key for (cache_key,) in await (await tx.execute(_SQL["find_open"], parameters)).fetchall()]
    if not found:
        return set()
    await lock_texts(tx, found)
    rows = await (await tx.execute(_SQL["withdraw_requests"], parameters | {"cache_keys": found})).fetchall()
    for request_id, _ in sorted(rows):
        await tx.execute(_SQL["pass_reviews"], {"request_id": request_id})
    await tx.execute(_SQL["close_reviews"], {"request_ids": [request_id for request_id, _ in rows]})
    return {key for _, key in rows}


async def count_queues(tx: Tx, projects: Iterable[str], *, deadline_s: float) -> list[QueueFigures]:
    """Return the figures of each project; a text is late if it is older than `deadline_s`."""
    rows = await (await tx.execute(_SQL["count_queues"], {"deadline_s": deadline_s})).fetchall()
    found = {row[0]: QueueFigures(*row) for row in rows}
    return [found.get(name, QueueFigures(name, 0, 0.0, 0, 0)) for name in projects]


async def count_opinions(tx: Tx, *, days: int, time_zone: str) -> list[DayFigures]:
    """Return the opinions of the last days by project, today first; days and projects without opinions are omitted."""
    rows = await (await tx.execute(_SQL["count_opinions"], {"days": days, "time_zone": time_zone})).fetchall()
    return [DayFigures(*row) for row in rows]
