"""Appeals: authors make them, reviewers decide them."""

from __future__ import annotations

import re
from typing import Any, Final

from classifeed.moderation.v1.moderation_service_pb2 import (
    AppealRecord,
    AppealRequest,
    DecideAppealRequest,
    GetAppealRequest,
    ListAppealsRequest,
    ListAppealsResponse,
)
from classifeed.moderation.v1.subject_pb2 import Decision as DecisionMessage
from classifeed.moderation.v1.subject_pb2 import ModerationStatus
from classifeed_common.clock import Clock
from classifeed_common.db import Database, Tx, load_queries
from classifeed_common.db.rows import fetch_named
from classifeed_common.errors import AlreadyExists, FailedPrecondition, NotFound, ResourceExhausted
from classifeed_common.outbox import Outbox
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.own_names import own_name, person_name
from classifeed_common.rpc.paging import page_token_refused, read_page_token, write_page_token
from classifeed_moderation.app.decisions.check_appeals import check_author, check_reviewer
from classifeed_moderation.app.decisions.report_decisions import report_decisions
from classifeed_moderation.domain.appeals import response_of, state_of
from classifeed_moderation.domain.decisions import Decision, Maker
from classifeed_moderation.domain.rules import Judgement, Reason
from classifeed_moderation.domain.subjects import Kind, Status
from classifeed_moderation.rpc.messages import decision_message
from classifeed_moderation.store import decisions, subjects

_SQL: Final = load_queries("classifeed_moderation.store", "appeals.sql")
_DEFAULT_PAGE_APPEALS: Final = 100
_APPEAL_ID: Final = re.compile(r"[0-9]{1,18}")


class Appeals:
    """RPC methods of appeals.

    Args:
        database: database of the appeals.
        outbox: sends the decisions.
        clock: clock for the time of decisions.
        max_open_per_author: maximum open appeals per author.
    """

    def __init__(self, database: Database, outbox: Outbox, clock: Clock, *, max_open_per_author: int) -> None:
        self._database = database
        self._outbox = outbox
        self._clock = clock
        self._max_open = max_open_per_author

    async def Appeal(self, request: AppealRequest, context: Context) -> AppealRecord:
        """Store an appeal against the newest decision about a text.

        Raises:
            NotFound: there is no such text.
            PermissionDenied: the caller names neither its author nor the seller of its offer.
            FailedPrecondition: the text is not refused.
            AlreadyExists: the decision already has an appeal by another author or for another reason.
            ResourceExhausted: the author has too many open appeals.
        """
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            subject = await subjects.find_subject(tx, request.key)
            if subject is None:
                raise NotFound("TEXT_NOT_FOUND", f"There is no text with the key {request.key!r}.")
            await check_author(tx, request.key, request.author_id)
            if subject.status is not Status.DISAPPROVED or subject.decision_id is None:
                raise FailedPrecondition(
                    "TEXT_NOT_REFUSED", f"The text {request.key} is not refused: there is nothing to appeal against."
                )
            parameters = {
                "subject_key": subject.key,
                "decision_id": subject.decision_id,
                "author_id": request.author_id,
                "reason": request.reason,
            }
            if (await tx.execute(_SQL["add_appeal"], parameters)).rowcount:
                await self._check_open(tx, request.author_id, is_seller=subject.kind is Kind.OFFER)
            [row] = await _find_appeals(tx, decision_id=subject.decision_id)
            if (row.author_id, row.reason) != (request.author_id, request.reason):
                raise AlreadyExists(
                    "APPEAL_EXISTS",
                    f"Decision {row.decision_id} has appeal {row.appeal_id} already. Wait for its outcome.",
                )
            return await _message(tx, row)

    async def GetAppeal(self, request: GetAppealRequest, context: Context) -> AppealRecord:
        """Return an appeal and its state.

        Raises:
            NotFound: there is no such appeal.
        """
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            rows = await _find_appeals(tx, appeal_id=request.appeal_id)
            if not rows:
                raise _appeal_not_found(request.appeal_id)
            return await _message(tx, rows[0])

    async def ListAppeals(self, request: ListAppealsRequest, context: Context) -> ListAppealsResponse:
        """Return a page of open appeals.

        Raises:
            InvalidArgument: this service did not issue the page token.
        """
        limit = request.page_size or _DEFAULT_PAGE_APPEALS
        after = _read_after(request.page_token)
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            rows = await fetch_named(tx, _SQL["list_open"], {"after": after, "limit": limit + 1})
            page = rows[:limit]
            return ListAppealsResponse(
                appeals=[await _message(tx, row) for row in page],
                next_page_token=write_page_token(str(page[-1].appeal_id)) if len(rows) > limit else "",
            )

    async def DecideAppeal(self, request: DecideAppealRequest, context: Context) -> DecisionMessage:
        """Decide an appeal; a repeated request returns the first decision.

        Raises:
            NotFound: there is no such appeal.
            PermissionDenied: the reviewer is the author, has decided about this text before, or uses the token of
                another person.
            FailedPrecondition: there is another decision, or the text was changed or judged again since.
        """
        reviewer = own_name(request.reviewer)
        status = Status(ModerationStatus.Name(request.status).removeprefix("MODERATION_STATUS_"))
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            rows = await fetch_named(tx, _SQL["lock_appeal"], {"appeal_id": request.appeal_id})
            if not rows:
                raise _appeal_not_found(request.appeal_id)
            [appeal] = rows
            if (known := await _find_outcome(tx, appeal, reviewer, request.rule, status)) is not None:
                return known
            subject = (await subjects.lock_subjects(tx, [appeal.subject_key])).get(appeal.subject_key)
            if (
                subject is None
                or appeal.ended_at is not None
                or (subject.decision_id, subject.status) != (appeal.decision_id, Status.DISAPPROVED)
            ):
                raise FailedPrecondition(
                    "APPEAL_ENDED",
                    f"Appeal {appeal.appeal_id} is decided, or its text was changed or judged again since: there is "
                    f"nothing to decide.",
                )
            await check_reviewer(tx, appeal, subject, reviewer)
            reason = Reason(request.rule) if status is Status.DISAPPROVED else None
            judgement = Judgement(status, request.rule, subject.tags, reason)
            recorded = await decisions.record(
                tx,
                [Decision(subject, judgement, subject.verdicts, is_automatic=False)],
                rule_set="",
                maker=Maker.REVIEWER,
                reviewer=reviewer,
                decided_at=self._clock.now(),
            )
            ended = {"appeal_id": appeal.appeal_id, "reviewer": reviewer, "response": request.response}
            await tx.execute(_SQL["end_appeal"], ended)
            await report_decisions(tx, self._outbox, recorded)
            made = decision_message(await decisions.find_decision(tx, recorded[0].decision_id))
        self._outbox.wake()
        return made

    async def _check_open(self, tx: Tx, author_id: str, *, is_seller: bool) -> None:
        parameters = {"author_id": author_id, "is_seller": is_seller}
        row = await (await tx.execute(_SQL["count_open_of"], parameters)).fetchone()
        assert row is not None
        if row[0] > self._max_open:
            raise ResourceExhausted(
                "APPEALS_TOO_MANY",
                f"{author_id} has {self._max_open} open appeals already. Wait until some of them are decided.",
            )


async def _find_appeals(tx: Tx, *, appeal_id: int = 0, decision_id: int = 0) -> list[Any]:
    return await fetch_named(tx, _SQL["find_appeal"], {"appeal_id": appeal_id, "decision_id": decision_id})


async def _find_outcome(tx: Tx, appeal: Any, reviewer: str, rule: str, status: Status) -> DecisionMessage | None:
    """Return the decision that the same request has made before, or None."""
    parameters = {"subject_key": appeal.subject_key, "decision_id": appeal.decision_id}
    for row in await fetch_named(tx, _SQL["find_outcome"], parameters):
        if (person_name(row.reviewer), row.status, row.rule) == (reviewer, status, rule):
            return decision_message(await decisions.find_decision(tx, row.decision_id))
    return None


async def _message(tx: Tx, row: Any) -> AppealRecord:
    outcome = await decisions.find_decision(tx, row.outcome_id) if row.outcome_id is not None else None
    is_decidable = bool(row.is_decidable) and row.ended_at is None
    state = state_of(Status(outcome.status) if outcome is not None else None, is_decidable=is_decidable)
    response = response_of(
        state,
        kind=Kind(row.kind) if row.kind is not None else None,
        rule=outcome.rule if outcome is not None else "",
        words=row.response,
    )
    return AppealRecord(
        appeal_id=row.appeal_id,
        key=row.subject_key,
        decision=decision_message(await decisions.find_decision(tx, row.decision_id)),
        author_id=row.author_id,
        reason=row.reason,
        state=f"APPEAL_STATE_{state}",
        response=response,
    )


def _appeal_not_found(appeal_id: int) -> NotFound:
    return NotFound("APPEAL_NOT_FOUND", f"There is no appeal {appeal_id}.")


def _read_after(token: str) -> int:
    appeal_id = read_page_token(token) or "0"
    if not _APPEAL_ID.fullmatch(appeal_id):
        raise page_token_refused()
    return int(appeal_id)
