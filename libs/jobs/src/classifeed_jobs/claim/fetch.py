"""Claiming: takes due jobs of a queue, in turns where there are partition keys (ADRs 0014 and 0020)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from classifeed_common.db import Tx, load_queries
from classifeed_jobs.claim.claim import Claim
from classifeed_jobs.claim.scan_cursor import Floors
from classifeed_jobs.claim.shares import UNLIMITED, Slots

_SQL = load_queries("classifeed_jobs.claim", "fetch.sql")


def _statement(
    name: str, candidate: str, *, scan: str = "scan", is_plain: bool = False, has_floors: bool = False
) -> str:
    prefix = "plain_" if is_plain else ""
    own = {
        "candidate": _SQL[candidate],
        "scan": _SQL[scan],
        "chosen": _SQL[f"{prefix}chosen"],
        "choice": _SQL["fair_choice" if scan == "fair_scan" else "choice"],
        "gone": _SQL[f"{prefix}gone"],
        "walk": _SQL["walk_from_floors" if has_floors else "walk"],
        "reached": _SQL["reached"] if has_floors else "",
    }
    statement = _SQL[name]
    while placeholders := re.findall(r"\{(\w+)\}", statement):
        for part in placeholders:
            statement = statement.replace(f"{{{part}}}", own[part] if part in own else _SQL[part])
    return statement


_CLAIM_PLAIN = _statement("claim_plain_jobs", "plain_candidate", is_plain=True)
_CLAIM_PLAIN_FROM_FLOORS = _statement("claim_plain_jobs", "candidate_from_floors", is_plain=True, has_floors=True)
_CLAIM = _statement("claim_jobs", "plain_candidate")
_CLAIM_FROM_FLOORS = _statement("claim_jobs", "candidate_from_floors", has_floors=True)
_CLAIM_FAIRLY = _statement("claim_jobs", "fair_candidate", scan="fair_scan")

_LOOK_FACTOR: Final = 10
_LOOK_MAX: Final = 5000
_ABOVE_ALL: Final = -(2**31) - 1
_HEAD: Final = 15
_PLAIN_HEAD: Final = 8


@dataclass(slots=True)
class Turn:
    """What a process remembers of a queue between two claims; starting without it costs nobody their turn for long.

    Attributes:
        is_fair: the queue had partition keys when it was last looked at.
        after_lane: the partition key that was served last.
        is_plain: the jobs last met were due and had no keys.
        floors: where to begin.
    """

    is_fair: bool = False
    is_plain: bool = True
    after_lane: str = ""
    floors: Floors = field(default_factory=Floors)


@dataclass(slots=True)
class ClaimAnswer:
    """What a claim found.

    Attributes:
        is_registered: false: the process's lease row is missing or stale; renew it first.
        claims: the jobs now held.
        contended: jobs passed over because they, or their key, were being taken or freed at that moment: look again
            soon.
        parked_keys: held keys whose jobs left the claim index until the key is freed.
        is_shut: the queue is paused, or limited and claimed from without a permit.
        is_held_back: partition keys may have jobs that wait until this process has more slots left (`Slots`).
        retry_in_s: seconds after which to look again unasked: the rate allows the next start, or jobs behind the floors
            are looked for; None: no need.
    """

    is_registered: bool = True
    claims: list[Claim] = field(default_factory=list)
    contended: int = 0
    parked_keys: set[str] = field(default_factory=set)
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
    turn: Turn | None = None,
    is_permitted: bool = False,
    per_lane: int | None = None,
    slots: Slots | None = None,
) -> ClaimAnswer:
    """Claim up to `wanted` due jobs of a queue: by priority, among equals a share for each partition key, then by age.

    Looks further ahead, and parks what it meets, as long as what it sees is held by other jobs of the same keys: a key
    with any number of jobs at the head keeps no other job waiting.

    Args:
        connection: in autocommit: each look is a transaction. Within limits: the transaction that holds their row.
        fresh_s: the process must have renewed its lease within this time.
        turn: the process's memory of this queue; brought up to date here.
        is_permitted: the caller holds the row of the queue's limits.
        per_lane: how many jobs of one partition key may run; None: any number.
        slots: of this process, where a partition key may hold no more than its share of them; None: any number.
    """
    asked = {"worker": worker_id, "queue": queue, "fresh_s": fresh_s, "is_permitted": is_permitted}
    turn = turn or Turn()
    answer = ClaimAnswer()
    if not turn.is_fair:
        was_whole = turn.floors.is_whole_due
        await _claim_unlaned(connection, asked, wanted, turn, answer)
        if not was_whole and not turn.is_fair and len(answer.claims) < wanted:
            answer.retry_in_s = turn.floors.whole_in_s
    if turn.is_fair and answer.is_registered and not answer.is_shut and len(answer.claims) < wanted:
        await _claim_fairly(connection, asked | {"per_lane": per_lane}, wanted, turn, answer, slots)
    return answer


async def _claim_unlaned(connection: Tx, asked: dict[str, Any], wanted: int, turn: Turn, answer: ClaimAnswer) -> None:
    """Claim from a queue without partition keys; the turn says when there are some."""
    if not (turn.is_plain and await _claim_plain(connection, asked, wanted, turn, answer)) and not turn.is_fair:
        await _claim_in_order(connection, asked, wanted, turn, answer)


async def _claim_plain(connection: Tx, asked: dict[str, Any], wanted: int, turn: Turn, answer: ClaimAnswer) -> bool:
    """Claim jobs without keys; False: the first ones of the queue are not so plain, and nothing was claimed."""
    floors = turn.floors.asked()
    statement = _CLAIM_PLAIN_FROM_FLOORS if floors else _CLAIM_PLAIN
    look = wanted - len(answer.claims)
    rows = await (await connection.execute(statement, asked | floors | {"look": look})).fetchall()
    walked_s, answer.is_registered, answer.is_shut, turn.is_fair, is_odd, *reached = rows[0][:_PLAIN_HEAD]
    taken = [_claim_of(row[_PLAIN_HEAD:], asked["queue"]) for row in rows[1:]]
    if answer.is_registered and not (answer.is_shut or turn.is_fair):
        is_filled = is_odd or len(taken) >= look
        turn.floors.looked(floors, walked_s, *reached, found=len(taken), is_filled=is_filled)
    turn.is_plain = not is_odd
    answer.claims += taken
    return not (turn.is_fair or is_odd)


async def _claim_in_order(connection: Tx, asked: dict[str, Any], wanted: int, turn: Turn, answer: ClaimAnswer) -> None:
    look = wanted - len(answer.claims)
    while True:
        floors = turn.floors.asked()
        statement = _CLAIM_FROM_FLOORS if floors else _CLAIM
        parameters = asked | floors | {"look": look, "wanted": wanted - len(answer.claims)}
        seen = await _look(connection, statement, parameters, answer)
        turn.is_fair = seen.has_lanes
        if answer.is_registered and not (answer.is_shut or turn.is_fair):
            found = seen.taken + seen.deferred
            turn.floors.looked(floors, seen.walked_s, *seen.reached, found=found, is_filled=seen.has_more)
        turn.is_plain = not seen.is_odd
        if not seen.has_more or len(answer.claims) >= wanted or seen.contended >= look:
            return
        look = min(look * _LOOK_FACTOR, _LOOK_MAX)


async def _claim_fairly(
    connection: Tx, asked: dict[str, Any], wanted: int, turn: Turn, answer: ClaimAnswer, slots: Slots | None
) -> None:
    """One priority at a time: only when it has nothing more to give, the next one is looked at."""
    look = wanted - len(answer.claims)
    above = _ABOVE_ALL
    contended = 0
    turn.is_fair = False
    while True:
        parameters = asked | {
            "look": look,
            "wanted": wanted - len(answer.claims),
            "above": above,
            "after_lane": turn.after_lane,
        }
        parameters |= slots.parameters(answer.claims) if slots is not None else UNLIMITED
        seen = await _look(connection, _CLAIM_FAIRLY, parameters, answer)
        contended += seen.contended
        answer.contended = contended
        answer.is_held_back |= seen.is_held_back
        turn.is_fair |= seen.has_lanes
        turn.after_lane = seen.last_lane if seen.last_lane is not None else turn.after_lane
        if seen.level is None or len(answer.claims) >= wanted:
            return
        if not seen.has_more or not (seen.taken or seen.deferred):
            above = seen.level
        look = wanted - len(answer.claims) if seen.taken else min(look * _LOOK_FACTOR, _LOOK_MAX)


@dataclass(frozen=True, slots=True)
class _Seen:
    has_lanes: bool
    level: int | None
    has_more: bool
    last_lane: str | None
    contended: int
    deferred: int
    is_held_back: bool
    is_odd: bool
    walked_s: float
    reached: list[Any]
    taken: int


async def _look(connection: Tx, statement: str, parameters: dict[str, Any], answer: ClaimAnswer) -> _Seen:
    """One statement; what it took and met is added to the answer."""
    rows = await (await connection.execute(statement, parameters)).fetchall()
    head, taken = rows[0][:_HEAD], [row[_HEAD:] for row in rows[1:]]
    walked_s, registered, is_shut, has_lanes, level, has_more, last_lane, keys, *counts = head
    contended, deferred, is_held_back, is_odd, *reached = counts
    answer.is_registered = bool(registered)
    answer.is_shut = is_shut
    answer.claims += [_claim_of(row, parameters["queue"]) for row in taken]
    answer.contended = contended
    answer.parked_keys.update(keys)
    return _Seen(
        bool(has_lanes),
        level,
        bool(has_more),
        last_lane,
        contended,
        deferred,
        is_held_back,
        is_odd,
        walked_s,
        reached,
        len(taken),
    )


def _claim_of(row: tuple[Any, ...], queue: str) -> Claim:
    return Claim(row[0], row[1], queue, *row[2:])
