"""Rejudgements: judge stored verdicts again by the current rules."""

from __future__ import annotations

from typing import Any

from classifeed.moderation.v1.moderation_service_pb2 import (
    GetRejudgementRequest,
    RejudgedCount,
    Rejudgement,
    RejudgeRequest,
)
from classifeed.moderation.v1.subject_pb2 import SUBJECT_KIND_UNSPECIFIED, SubjectKind
from classifeed_common.db import Database
from classifeed_common.errors import FieldViolation, InvalidArgument, NotFound
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_jobs import JobStore
from classifeed_moderation.domain.subjects import Kind
from classifeed_moderation.jobs.rejudge import RejudgeArgs, enqueue_rejudge
from classifeed_moderation.store import rejudging


class RejudgementMethods:
    """Begins rejudgements, and reports their progress."""

    def __init__(self, database: Database, jobs: JobStore) -> None:
        self._database = database
        self._jobs = jobs

    async def Rejudge(self, request: RejudgeRequest, context: Context) -> Rejudgement:
        """Begin a rejudgement; a repeated request returns the same rejudgement.

        Raises:
            InvalidArgument: the request_id belongs to another rejudgement.
        """
        kind = None
        if request.kind != SUBJECT_KIND_UNSPECIFIED:
            kind = Kind(SubjectKind.Name(request.kind).removeprefix("SUBJECT_KIND_"))
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            if await rejudging.add_rejudgement(tx, request.request_id, kind, is_dry_run=request.dry_run):
                args = RejudgeArgs(request_id=request.request_id, kind=kind, is_dry_run=request.dry_run)
                await enqueue_rejudge(self._jobs, tx, args)
            row = await rejudging.find_rejudgement(tx, request.request_id)
        if (row.kind, row.is_dry_run) != (kind, request.dry_run):
            raise _invalid("belongs to a Rejudge with another kind or dry_run; choose another one")
        return _message(row)

    async def GetRejudgement(self, request: GetRejudgementRequest, context: Context) -> Rejudgement:
        """Return a rejudgement.

        Raises:
            NotFound: there is no such rejudgement.
        """
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            row = await rejudging.find_rejudgement(tx, request.request_id)
        if row is None:
            raise NotFound("REJUDGEMENT_NOT_FOUND", f"There is no Rejudge with the request_id {request.request_id!r}.")
        return _message(row)


def _message(row: Any) -> Rejudgement:
    return Rejudgement(
        request_id=row.request_id,
        dry_run=row.is_dry_run,
        judged=row.judged,
        changes=[
            RejudgedCount(
                kind=f"SUBJECT_KIND_{kind}",
                region_id=region_id,
                rule=rule,
                status=f"MODERATION_STATUS_{status}",
                texts=texts,
            )
            for kind, region_id, rule, status, texts in row.changes
        ],
        done=row.ended_at is not None,
    )


def _invalid(what: str) -> InvalidArgument:
    return InvalidArgument("REJUDGE_INVALID", f"request_id: {what}", violations=[FieldViolation("request_id", what)])
