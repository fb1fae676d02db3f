"""Calls for moderation, for operators: texts and verdicts, points and comments, reviews by people."""

from __future__ import annotations

from collections.abc import Sequence

from classifeed.cleanweb.v1 import cleanweb_service_pb2 as cleanweb_pb2
from classifeed.cleanweb.v1.cleanweb_service_pb2_grpc import CleanwebServiceStub
from classifeed.moderation.v1 import moderation_service_pb2 as moderation_pb2
from classifeed.moderation.v1 import subject_pb2
from classifeed.moderation.v1.moderation_service_pb2_grpc import ModerationServiceStub
from classifeed.points.v1 import point_pb2, point_service_pb2
from classifeed.points.v1.point_service_pb2_grpc import PointServiceStub
from classifeed_client.connection import Caller

_END = "clean_web_moderation_end"
MODERATION_SERVICES = ("moderation", "cleanweb")
"""Services that these calls use."""


class ModerationClient(Caller):
    """Client of the moderation services. The arguments are those of Caller, with addresses of MODERATION_SERVICES."""

    def _open_stubs(self) -> None:
        self._moderation = self._stub("moderation", ModerationServiceStub)
        self._points = self._stub("moderation", PointServiceStub)
        self._cleanweb = self._stub("cleanweb", CleanwebServiceStub)

    def list_pending(self, request: moderation_pb2.ListPendingRequest) -> moderation_pb2.ListPendingResponse:
        """Return a page of texts of one kind that wait for a verdict, ordered by their next attempt."""
        return self._call(self._moderation.ListPending, request, moderation_pb2.ListPendingResponse)

    def get_subject(self, key: str) -> subject_pb2.Subject:
        """Return a text with its decision."""
        request = moderation_pb2.GetSubjectRequest(key=key)
        return self._call(self._moderation.GetSubject, request, subject_pb2.Subject)

    def list_events(self, key: str = "", after: int = 0, page_size: int = 0) -> list[subject_pb2.Decision]:
        """Return decisions with a number above `after`, all or those about one text."""
        request = moderation_pb2.ListEventsRequest(key=key, after_decision_id=after, page_size=page_size)
        return list(self._call(self._moderation.ListEvents, request, moderation_pb2.ListEventsResponse).decisions)

    def apply_verdicts(self, key: str, names: Sequence[str], *, has_end: bool) -> moderation_pb2.ApplyVerdictsResponse:
        """Apply verdicts to a text, as the verdict service does. Requires a token of services.

        Args:
            key: Key of the text.
            names: Names of the verdicts; empty if nothing is wrong with the text.
            has_end: Whether these are all verdicts of the text.
        """
        all_names = [*names, _END] if has_end else names
        verdicts = [subject_pb2.Verdict(name=name, source="operator", entity="text") for name in all_names]
        request = moderation_pb2.ApplyVerdictsRequest()
        request.texts.add(key=key, verdicts=verdicts, has_end=has_end)
        return self._call(self._moderation.ApplyVerdicts, request, moderation_pb2.ApplyVerdictsResponse)

    def check_text(self, request: moderation_pb2.CheckTextRequest) -> moderation_pb2.CheckTextResponse:
        """Return the decision that a text would get; nothing is stored."""
        return self._call(self._moderation.CheckText, request, moderation_pb2.CheckTextResponse)

    def rejudge(self, request: moderation_pb2.RejudgeRequest) -> moderation_pb2.Rejudgement:
        """Judge stored verdicts again by the current rules."""
        return self._call(self._moderation.Rejudge, request, moderation_pb2.Rejudgement)

    def get_rejudgement(self, request_id: str) -> moderation_pb2.Rejudgement:
        """Return the progress of a Rejudge, and its changes."""
        request = moderation_pb2.GetRejudgementRequest(request_id=request_id)
        return self._call(self._moderation.GetRejudgement, request, moderation_pb2.Rejudgement)

    def get_figures(self, interval: moderation_pb2.FigureInterval | str, intervals: int) -> moderation_pb2.Figures:
        """Return figures of the decisions by hour or day: FIGURE_INTERVAL_HOUR, FIGURE_INTERVAL_DAY."""
        request = moderation_pb2.GetFiguresRequest(interval=interval, intervals=intervals)
        return self._call(self._moderation.GetFigures, request, moderation_pb2.Figures)

    def appeal(self, key: str, author_id: str, reason: str) -> moderation_pb2.AppealRecord:
        """Appeal against the decision that refuses a text."""
        request = moderation_pb2.AppealRequest(key=key, author_id=author_id, reason=reason)
        return self._call(self._moderation.Appeal, request, moderation_pb2.AppealRecord)

    def get_appeal(self, appeal_id: int) -> moderation_pb2.AppealRecord:
        """Return an appeal with the response for its author."""
        request = moderation_pb2.GetAppealRequest(appeal_id=appeal_id)
        return self._call(self._moderation.GetAppeal, request, moderation_pb2.AppealRecord)

    def list_appeals(self, request: moderation_pb2.ListAppealsRequest) -> moderation_pb2.ListAppealsResponse:
        """Return a page of open appeals, oldest first."""
        return self._call(self._moderation.ListAppeals, request, moderation_pb2.ListAppealsResponse)

    def decide_appeal(self, request: moderation_pb2.DecideAppealRequest) -> subject_pb2.Decision:
        """Decide an appeal. The person who made the first decision may not decide it."""
        return self._call(self._moderation.DecideAppeal, request, subject_pb2.Decision)

    def create_point(self, request: point_service_pb2.CreatePointRequest) -> point_pb2.Point:
        """Create a point. A repeated id returns the existing point."""
        return self._call(self._points.CreatePoint, request, point_pb2.Point)

    def get_point(self, name: str, *, any_status: bool = False) -> point_pb2.Point:
        """Return a point with its comments; only approved content, unless `any_status`."""
        request = point_service_pb2.GetPointRequest(name=name, any_status=any_status)
        return self._call(self._points.GetPoint, request, point_pb2.Point)

    def list_points(self, request: point_service_pb2.ListPointsRequest) -> point_service_pb2.ListPointsResponse:
        """Return a page of the points of an area, oldest first."""
        return self._call(self._points.ListPoints, request, point_service_pb2.ListPointsResponse)

    def add_comment(self, request: point_service_pb2.AddCommentRequest) -> point_pb2.Comment:
        """Add a comment to a point."""
        return self._call(self._points.AddComment, request, point_pb2.Comment)

    def vote(self, name: str, author_id: str, *, is_there: bool) -> point_pb2.Point:
        """Vote whether a point is there. An author's later vote replaces the earlier one."""
        request = point_service_pb2.VoteRequest(name=name, author_id=author_id, is_there=is_there)
        return self._call(self._points.Vote, request, point_pb2.Point)

    def delete_point(self, name: str) -> bool:
        """Remove a point with its comments; return whether it existed."""
        request = point_service_pb2.DeletePointRequest(name=name)
        return self._call(self._points.DeletePoint, request, point_service_pb2.DeletePointResponse).removed

    def get_queues(self) -> list[cleanweb_pb2.Queue]:
        """Return the review queue of each project."""
        return list(
            self._call(self._cleanweb.GetQueues, cleanweb_pb2.GetQueuesRequest(), cleanweb_pb2.GetQueuesResponse).queues
        )

    def claim_review(self, project: str, reviewer: str) -> cleanweb_pb2.Review:
        """Lease the oldest text of a project to a reviewer."""
        request = cleanweb_pb2.ClaimReviewRequest(project=project, reviewer=reviewer)
        return self._call(self._cleanweb.ClaimReview, request, cleanweb_pb2.Review)

    def submit_opinion(self, review_id: int, reviewer: str, verdicts: Sequence[str]) -> bool:
        """Store a reviewer's verdicts; return whether the review has ended."""
        request = cleanweb_pb2.SubmitOpinionRequest(review_id=review_id, reviewer=reviewer, verdicts=verdicts)
        return self._call(self._cleanweb.SubmitOpinion, request, cleanweb_pb2.SubmitOpinionResponse).ended

    def list_callbacks(self, *, given_up: bool, after: int = 0, page_size: int = 0) -> list[cleanweb_pb2.Callback]:
        """Return callbacks that were not delivered, oldest first."""
        request = cleanweb_pb2.ListCallbacksRequest(given_up=given_up, after_callback_id=after, page_size=page_size)
        return list(self._call(self._cleanweb.ListCallbacks, request, cleanweb_pb2.ListCallbacksResponse).callbacks)

    def resend_callbacks(self, callback_id: int = 0) -> int:
        """Send a callback again that was given up, or all such callbacks (0); return how many."""
        request = cleanweb_pb2.ResendCallbacksRequest(callback_id=callback_id)
        return self._call(self._cleanweb.ResendCallbacks, request, cleanweb_pb2.ResendCallbacksResponse).callbacks
