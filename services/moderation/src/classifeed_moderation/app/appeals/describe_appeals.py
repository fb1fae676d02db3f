"""Describe appeals with their decisions, their states and the responses to their authors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from classifeed_common.db import Database, Tx
from classifeed_common.errors import NotFound
from classifeed_common.rpc.call import remaining_s
from classifeed_moderation.domain.appeals import AppealState, response_of, state_of
from classifeed_moderation.domain.subjects import Kind, Status
from classifeed_moderation.store import appeals, decisions


@dataclass(frozen=True, slots=True)
class Appeal:
    """An appeal.

    Attributes:
        appeal_id: number of the appeal.
        key: key of the text.
        author_id: person who made it.
        reason: reason that the author gives.
        decision: decision that it is against, as a row by name.
        state: state of the appeal.
        response: sentences for the author.
    """

    appeal_id: int
    key: str
    author_id: str
    reason: str
    decision: Any
    state: AppealState
    response: str


async def get_appeal(database: Database, appeal_id: int) -> Appeal:
    """Return an appeal.

    Raises:
        NotFound: there is no such appeal.
    """
    async with database.transaction(timeout_s=remaining_s()) as tx:
        row = await appeals.find_appeal(tx, appeal_id=appeal_id)
        if row is None:
            raise appeal_not_found(appeal_id)
        return await describe_appeal(tx, row)


async def list_appeals(database: Database, *, after: int, limit: int) -> tuple[Sequence[Appeal], bool]:
    """Return a page of open appeals after a number, oldest first, and whether there are more."""
    async with database.transaction(timeout_s=remaining_s()) as tx:
        rows = await appeals.list_open(tx, after=after, limit=limit + 1)
        return [await describe_appeal(tx, row) for row in rows[:limit]], len(rows) > limit


async def describe_appeal(tx: Tx, row: Any) -> Appeal:
    """Return the appeal of a row of `find_appeal` or `list_open`."""
    outcome = await decisions.find_decision(tx, row.outcome_id) if row.outcome_id is not None else None
    is_decidable = bool(row.is_decidable) and row.ended_at is None
    state = state_of(Status(outcome.status) if outcome is not None else None, is_decidable=is_decidable)
    response = response_of(
        state,
        kind=Kind(row.kind) if row.kind is not None else None,
        rule=outcome.rule if outcome is not None else "",
        words=row.response,
    )
    decision = await decisions.find_decision(tx, row.decision_id)
    return Appeal(row.appeal_id, row.subject_key, row.author_id, row.reason, decision, state, response)


def appeal_not_found(appeal_id: int) -> NotFound:
    """Return the error for an appeal that does not exist."""
    return NotFound("APPEAL_NOT_FOUND", f"There is no appeal {appeal_id}. List the open appeals.")
