"""CleanwebService: texts, reviews and callbacks."""

from __future__ import annotations

from typing import Any, Final

from classifeed.cleanweb.v1.cleanweb_service_pb2 import (
    Callback,
    ClaimReviewRequest,
    GetQueuesRequest,
    GetQueuesResponse,
    JudgeTextRequest,
    JudgeTextResponse,
    ListCallbacksRequest,
    ListCallbacksResponse,
    Queue,
    ResendCallbacksRequest,
    ResendCallbacksResponse,
    Review,
    ReviewDay,
    SubmitOpinionRequest,
    SubmitOpinionResponse,
)
from classifeed.cleanweb.v1.cleanweb_service_pb2_grpc import CleanwebServiceServicer
from classifeed.moderation.v1.subject_pb2 import Span, Verdict
from classifeed_cleanweb.app.claim_review import claim_review
from classifeed_cleanweb.app.describe_queues import describe_queues
from classifeed_cleanweb.app.judge_text import JudgeText, TextRequest
from classifeed_cleanweb.app.submit_opinion import EnqueueCallback, submit_opinion
from classifeed_cleanweb.clients.receivers import Receivers
from classifeed_cleanweb.domain.protocol import END
from classifeed_cleanweb.domain.review_terms import ReviewTerms
from classifeed_cleanweb.store import callbacks
from classifeed_common.db import Database
from classifeed_common.errors import FailedPrecondition, NotFound
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.own_names import own_name

_DEFAULT_PAGE_CALLBACKS: Final = 100


class CleanwebService(CleanwebServiceServicer):
    """Judges texts, leases them to reviewers, and lists waiting callbacks."""

    def __init__(
        self,
        database: Database,
        judge_text: JudgeText,
        receivers: Receivers,
        enqueue: EnqueueCallback,
        resend: EnqueueCallback,
        terms: ReviewTerms,
    ) -> None:
        self._database = database
        self._judge_text = judge_text
        self._receivers = receivers
        self._enqueue = enqueue
        self._resend = resend
        self._terms = terms

    async def JudgeText(self, request: JudgeTextRequest, context: Context) -> JudgeTextResponse:
        """Judge a text.

        Raises:
            FailedPrecondition: no receiver of callbacks is configured for the requester.
        """
        if not self._receivers.knows(request.service, request.environment):
            raise FailedPrecondition(
                "RECEIVER_UNKNOWN",
                f"{request.service}/{request.environment} has no receiver of callbacks. The operator adds one to "
                "CLASSIFEED_CLEANWEB_RECEIVERS.",
            )
        [judged] = await self._judge_text(
            [TextRequest(request.service, request.environment, request.key, request.text, tuple(request.region_ids))]
        )
        if judged.with_people:
            return JudgeTextResponse(with_people=True)
        verdicts = [
            Verdict(
                name=verdict.name,
                source=verdict.source,
                entity="text",
                reviewers=verdict.reviewers,
                spans=[Span(start=it.start, end=it.end, excerpt=it.excerpt) for it in verdict.findings],
            )
            for verdict in judged.verdicts
        ]
        return JudgeTextResponse(verdicts=[*verdicts, Verdict(name=END, source="cleanweb", entity="text")])

    async def ClaimReview(self, request: ClaimReviewRequest, context: Context) -> Review:
        """Lease a text to a reviewer.

        Raises:
            InvalidArgument: there is no such project.
            NotFound: no text waits for this reviewer.
            PermissionDenied: the token belongs to another reviewer.
        """
        reviewer = own_name(request.reviewer)
        project, claimed = await claim_review(self._database, request.project, reviewer, lease_s=self._terms.lease_s)
        if claimed is None:
            raise NotFound("NO_REVIEW_WAITS", f"No text of {project.name} waits for {reviewer}. Try again later.")
        review = Review(
            review_id=claimed.review_id,
            project=project.name,
            text=claimed.text,
            instructions=project.instructions,
            choices=project.choices,
        )
        review.lease_end_time.FromDatetime(claimed.leased_until)
        return review

    async def SubmitOpinion(self, request: SubmitOpinionRequest, context: Context) -> SubmitOpinionResponse:
        """Store an opinion.

        Raises:
            NotFound: there is no such review.
            InvalidArgument: the project does not have one of the verdicts.
            FailedPrecondition: the reviewer did not claim the text, or another reviewer has claimed it since.
            PermissionDenied: the token belongs to another reviewer.
        """
        ended = await submit_opinion(
            self._database,
            self._enqueue,
            review_id=request.review_id,
            reviewer=own_name(request.reviewer),
            verdicts=request.verdicts,
            cost=self._terms.opinion_cost,
        )
        return SubmitOpinionResponse(ended=ended)

    async def GetQueues(self, request: GetQueuesRequest, context: Context) -> GetQueuesResponse:
        """Return the waiting texts of each project, and opinions by day."""
        found = await describe_queues(self._database, self._terms)
        return GetQueuesResponse(
            queues=[Queue(**figures._asdict()) for figures in found.projects],
            days=[ReviewDay(**{**figures._asdict(), "day": figures.day.isoformat()}) for figures in found.days],
        )

    async def ListCallbacks(self, request: ListCallbacksRequest, context: Context) -> ListCallbacksResponse:
        """Return callbacks that were not delivered."""
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            rows = await callbacks.list_callbacks(
                tx,
                given_up=request.given_up,
                after=request.after_callback_id,
                limit=request.page_size or _DEFAULT_PAGE_CALLBACKS,
            )
        return ListCallbacksResponse(callbacks=[_callback(row) for row in rows])

    async def ResendCallbacks(self, request: ResendCallbacksRequest, context: Context) -> ResendCallbacksResponse:
        """Enqueue given-up callbacks again."""
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            rows = await callbacks.take_given_up(tx, request.callback_id)
            for row in rows:
                await self._resend(tx, row.callback_id, row.service, row.environment, row.key)
        return ResendCallbacksResponse(callbacks=len(rows))


def _callback(row: Any) -> Callback:
    callback = Callback(
        callback_id=row.callback_id, service=row.service, environment=row.environment, key=row.key, fault=row.fault
    )
    callback.create_time.FromDatetime(row.created_at)
    if row.given_up_at is not None:
        callback.give_up_time.FromDatetime(row.given_up_at)
    return callback
