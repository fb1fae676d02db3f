"""DecideAppeal: records the decision of a reviewer about an appeal."""

from __future__ import annotations

from typing import Any

from classifeed_common.db import Database, Tx
from classifeed_common.errors import FailedPrecondition, PermissionDenied
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.own_names import own_name, person_name
from classifeed_moderation.app.appeals.describe_appeals import appeal_not_found
from classifeed_moderation.app.decisions.record_decisions import Deciding
from classifeed_moderation.domain.decisions import Decision, Maker, Subject
from classifeed_moderation.domain.rules import Judgement, Reason
from classifeed_moderation.domain.subjects import Status
from classifeed_moderation.store import appeals, decisions, subjects


class DecideAppeal:
    """Decides appeals by the words of reviewers.

    Args:
        database: database of the appeals.
        deciding: clock and outbox of the decisions.
    """

    def __init__(self, database: Database, deciding: Deciding) -> None:
        self._database = database
        self._deciding = deciding

    async def __call__(self, *, appeal_id: int, reviewer: str, status: Status, rule: str, response: str) -> Any:
        """Decide an appeal; return the decision as a row by name. A repeated request returns the first decision.

        Args:
            appeal_id: number of the appeal.
            reviewer: name of the reviewer, which must be that of the caller.
            status: status of the text.
            rule: rule that the reviewer names.
            response: sentences for the author.

        Raises:
            NotFound: there is no such appeal.
            PermissionDenied: the reviewer is the author, has decided about this text before, or uses the token of
                another person.
            FailedPrecondition: there is another decision, or the text was changed or judged again since.
        """
        reviewer = own_name(reviewer)
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            appeal = await appeals.lock_appeal(tx, appeal_id)
            if appeal is None:
                raise appeal_not_found(appeal_id)
            for row in await appeals.list_outcomes(tx, appeal.subject_key, appeal.decision_id):
                if (person_name(row.reviewer), row.status, row.rule) == (reviewer, status, rule):
                    return await decisions.find_decision(tx, row.decision_id)
            subject = await _lock_subject(tx, appeal)
            await _check_reviewer(tx, appeal, subject, reviewer)
            reason = Reason(rule) if status is Status.DISAPPROVED else None
            judgement = Judgement(status, rule, subject.tags, reason)
            decision = Decision(subject, judgement, subject.verdicts, is_automatic=False)
            [recorded] = await self._deciding.record(tx, [decision], maker=Maker.REVIEWER, reviewer=reviewer)
            await appeals.end_appeal(tx, appeal_id, reviewer=reviewer, response=response)
            made = await decisions.find_decision(tx, recorded.decision_id)
        self._deciding.outbox.wake()
        return made


async def _lock_subject(tx: Tx, appeal: Any) -> Subject:
    """Lock and return the text of an appeal, if the appeal can still be decided."""
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
    return subject


async def _check_reviewer(tx: Tx, appeal: Any, subject: Subject, reviewer: str) -> None:
    """Check that a reviewer neither wrote a text nor decided about it before."""
    if person_name(appeal.author_id) == reviewer:
        raise PermissionDenied(
            "REVIEWER_IS_AUTHOR", f"{reviewer} made appeal {appeal.appeal_id}. Another reviewer must decide it."
        )
    if reviewer in map(person_name, await appeals.list_deciders(tx, subject.key, subject.text_hash)):
        raise PermissionDenied(
            "REVIEWER_DECIDED_BEFORE",
            f"{reviewer} has decided about the text of appeal {appeal.appeal_id} before. Another reviewer must decide "
            f"it.",
        )
