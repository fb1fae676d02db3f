"""Claims of due jobs of a queue, round-robin between partition keys (ADRs 0014 and 0020)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from classifeed_common.db import Tx, fetch_named, load_queries
from classifeed_jobs.claim.claim import Claim
from classifeed_jobs.claim.claim_cursor import ClaimCursor, Ranges, Scan
from classifeed_jobs.claim.shares import UNLIMITED, FreeSlots
from classifeed_jobs.model.stored import find_damage

_SQL = load_queries("classifeed_jobs.claim", "fetch.sql")
_CLAIM_PLAIN = _SQL["claim_plain_jobs"]
_CLAIM_PLAIN_FROM_CURSOR = _SQL["claim_plain_jobs_from_cursor"]
_CLAIM = _SQL["claim_jobs"]
_CLAIM_FROM_CURSOR = _SQL["claim_jobs_from_cursor"]
_CLAIM_FAIRLY = _SQL["claim_jobs_fairly"]

_SCAN_FACTOR: Final = 10
_SCAN_MAX: Final = 5000
_ABOVE_ALL: Final = -(2**31) - 1


Request: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class QueueCursor:
    """State of a queue that a process keeps between two claims. If it is lost, shares even out again soon.

    Attributes:
        is_fair: Whether the queue had partition keys at the last poll.
        after_partition: Partition key that was served last.
        is_plain: Whether the jobs of the last scan were due and had no keys.
        scan_cursor: Start of the next scan.
    """

    is_fair: bool = False
    is_plain: bool = True
    after_partition: str = ""
    scan_cursor: ClaimCursor = field(default_factory=ClaimCursor)


@dataclass(slots=True)
class ClaimResult:
    """The result of a claim.

    Attributes:
        is_registered: False if the process's lease row is missing or stale; renew it first.
        claims: Jobs that the process now holds.
        contended: Number of jobs that were skipped because another process was claiming or releasing them or their key:
            poll again soon.
        blocked_keys: Held keys whose jobs left the claim index until the key is released.
        is_shut: Whether the queue is paused, or has limits and was claimed from without a permit.
        is_held_back: Whether partition keys may have jobs that wait for more free slots in this process (`FreeSlots`).
        retry_in_s: Seconds until the next poll, when the rate allows a start or the index is scanned in full; None if
            no poll is needed.
    """

    is_registered: bool = True
    claims: list[Claim] = field(default_factory=list)
    contended: int = 0
    blocked_keys: set[str] = field(default_factory=set)
    is_shut: bool = False
    is_held_back: bool = False
    retry_in_s: float | None = None


async def claim_jobs(
    connection: Tx,
    *,
    worker_id: str,
    queue: str,
    wanted: int,
    fresh_s: float,
    cursor: QueueCursor | None = None,
    is_permitted: bool = False,
    per_partition: int | None = None,
    slots: FreeSlots | None = None,
) -> ClaimResult:
    """Claim up to `wanted` due jobs of a queue, by priority, then a share for each partition key, then by age.

    If the lock keys of scanned jobs are held, the jobs are marked as blocked and the scan continues. A key with any
    number of jobs at the head therefore does not delay other jobs.

    Args:
        connection: Connection in autocommit mode, as each poll is a transaction; or the transaction that locks the row
            of the queue's limits.
        worker_id: Id of the process.
        queue: Name of the queue.
        wanted: Maximum number of jobs to claim.
        fresh_s: Maximum age of the process's lease, in seconds.
        cursor: State of this queue in the process; updated here.
        is_permitted: Whether the caller holds the row of the queue's limits.
        per_partition: Maximum number of running jobs per partition key; None for no limit.
        slots: Free slots of this process, if partition keys are limited to their share; None for no limit.
    """
    request = {"worker": worker_id, "queue": queue, "fresh_s": fresh_s, "is_permitted": is_permitted}
    cursor = cursor or QueueCursor()
    result = ClaimResult()
    if not cursor.is_fair:
        was_whole = cursor.scan_cursor.is_full_scan_due
        await _claim_without_partitions(connection, request, wanted, cursor, result)
        if not was_whole and not cursor.is_fair and len(result.claims) < wanted:
            result.retry_in_s = cursor.scan_cursor.full_scan_in_s
    if cursor.is_fair and result.is_registered and not result.is_shut and len(result.claims) < wanted:
        await _claim_fairly(connection, request | {"per_partition": per_partition}, wanted, cursor, result, slots)
    return result


async def _claim_without_partitions(
    connection: Tx, request: Request, wanted: int, cursor: QueueCursor, result: ClaimResult
) -> None:
    """Claim from a queue without partition keys; `cursor.is_fair` is set if the queue has some."""
    if not (cursor.is_plain and await _claim_plain(connection, request, wanted, cursor, result)) and not cursor.is_fair:
        await _claim_in_order(connection, request, wanted, cursor, result)


async def _claim_plain(connection: Tx, request: Request, wanted: int, cursor: QueueCursor, result: ClaimResult) -> bool:
    """Claim jobs without keys. Return False if one of the first jobs has a key or is not due; none is claimed then."""
    ranges = cursor.scan_cursor.parameters()
    statement = _CLAIM_PLAIN_FROM_CURSOR if ranges else _CLAIM_PLAIN
    limit = wanted - len(result.claims)
    found, claims = await _run(connection, statement, request | ranges | {"look": limit})
    result.is_registered, result.is_shut, cursor.is_fair = found.registered, found.is_shut, found.has_partitions
    if result.is_registered and not (result.is_shut or cursor.is_fair):
        is_filled = found.needs_full_claim or len(claims) >= limit
        cursor.scan_cursor.record(_scan_of(ranges, found, len(claims), is_filled=is_filled))
    cursor.is_plain = not found.needs_full_claim
    result.claims += claims
    return not (cursor.is_fair or found.needs_full_claim)


async def _claim_in_order(
    connection: Tx, request: Request, wanted: int, cursor: QueueCursor, result: ClaimResult
) -> None:
    limit = wanted - len(result.claims)
    while True:
        ranges = cursor.scan_cursor.parameters()
        statement = _CLAIM_FROM_CURSOR if ranges else _CLAIM
        parameters = request | ranges | {"look": limit, "wanted": wanted - len(result.claims)}
        found, taken = await _poll(connection, statement, parameters, result)
        cursor.is_fair = found.has_partitions
        if result.is_registered and not (result.is_shut or cursor.is_fair):
            scan = _scan_of(ranges, found, taken + found.deferred, is_filled=found.has_more)
            cursor.scan_cursor.record(scan)
        cursor.is_plain = not found.needs_full_claim
        if not found.has_more or len(result.claims) >= wanted or found.contended >= limit:
            return
        limit = min(limit * _SCAN_FACTOR, _SCAN_MAX)


async def _claim_fairly(
    connection: Tx,
    request: Request,
    wanted: int,
    cursor: QueueCursor,
    result: ClaimResult,
    slots: FreeSlots | None,
) -> None:
    """Claim one priority after the other: the next one is scanned when the current one has no more jobs."""
    limit = wanted - len(result.claims)
    above = _ABOVE_ALL
    contended = 0
    cursor.is_fair = False
    while True:
        parameters = request | {
            "look": limit,
            "wanted": wanted - len(result.claims),
            "above": above,
            "after_partition": cursor.after_partition,
        }
        parameters |= slots.parameters(result.claims) if slots is not None else UNLIMITED
        found, taken = await _poll(connection, _CLAIM_FAIRLY, parameters, result)
        contended += found.contended
        result.contended = contended
        result.is_held_back |= found.is_held_back
        cursor.is_fair |= found.has_partitions
        if found.last_partition is not None:
            cursor.after_partition = found.last_partition
        if found.level is None or len(result.claims) >= wanted:
            return
        if not found.has_more or not (taken or found.deferred):
            above = found.level
        limit = wanted - len(result.claims) if taken else min(limit * _SCAN_FACTOR, _SCAN_MAX)


async def _poll(connection: Tx, statement: str, parameters: Request, result: ClaimResult) -> tuple[Any, int]:
    """Run a statement and add its claims to the result; return its columns of `found` and the number of claims."""
    found, claims = await _run(connection, statement, parameters)
    result.is_registered, result.is_shut = found.registered, found.is_shut
    result.claims += claims
    result.contended = found.contended
    result.blocked_keys.update(found.blocked_keys)
    return found, len(claims)


async def _run(connection: Tx, statement: str, parameters: Request) -> tuple[Any, list[Claim]]:
    """Run a statement; return a row with the columns of `found`, and the claims."""
    rows = await fetch_named(connection, statement, parameters)
    queue = parameters["queue"]
    return rows[0], [_claim_of(row, queue) for row in rows if row.job_id is not None]


def _scan_of(ranges: Ranges, found: Any, count: int, *, is_filled: bool) -> Scan:
    return Scan(ranges, found.scanned_s, found.priorities, found.sinces, found.late, count, is_filled)


def _claim_of(row: Any, queue: str) -> Claim:
    args, checkpoint, trace = row.args, row.checkpoint, row.trace_context
    damage = find_damage(args=args, checkpoint=checkpoint)
    return Claim(
        job_id=row.job_id,
        claim_no=row.claim_no,
        queue=queue,
        task=row.task,
        args=args if damage is None else {},
        lock_key=row.lock_key,
        partition_key=row.partition_key,
        attempt=row.attempt,
        max_attempts=row.max_attempts,
        lease_ttl_s=row.lease_ttl_sec,
        checkpoint=checkpoint if damage is None else None,
        trace_context=trace if isinstance(trace, dict) else None,
        waited_s=row.waited_s,
        runs_alone=row.runs_alone,
        damage=damage,
    )
