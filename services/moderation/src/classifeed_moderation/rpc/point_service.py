"""PointService: points and their comments."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from classifeed.moderation.v1.subject_pb2 import AUTHOR_ROLE_UNSPECIFIED
from classifeed.moderation.v1.subject_pb2 import AuthorRole as AuthorRoleValue
from classifeed.points.v1.point_pb2 import Author as AuthorMessage
from classifeed.points.v1.point_pb2 import Comment, Location
from classifeed.points.v1.point_pb2 import Point as PointMessage
from classifeed.points.v1.point_service_pb2 import (
    AddCommentRequest,
    CreatePointRequest,
    DeletePointRequest,
    DeletePointResponse,
    GetPointRequest,
    ListPointsRequest,
    ListPointsResponse,
    VoteRequest,
)
from classifeed.points.v1.point_service_pb2_grpc import PointServiceServicer
from classifeed_common.db import Database, Tx
from classifeed_common.errors import FieldViolation, InvalidArgument
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.paging import page_token_refused
from classifeed_moderation.app.decisions.record_decisions import Deciding
from classifeed_moderation.app.judging.store_texts import StoreTexts
from classifeed_moderation.app.points.change_point import point_not_found
from classifeed_moderation.app.points.comment_point import comment_point
from classifeed_moderation.app.points.create_point import create_point
from classifeed_moderation.app.points.remove_point import remove_point
from classifeed_moderation.app.points.vote_point import vote_point
from classifeed_moderation.domain.decisions import Subject
from classifeed_moderation.domain.points import Author, AuthorRole, Point
from classifeed_moderation.domain.subjects import Status, comment_key, point_key
from classifeed_moderation.rpc.messages import moderation_message
from classifeed_moderation.rpc.places import parse_place, write_place
from classifeed_moderation.store import points, subjects
from classifeed_moderation.store.points import Area, StoredComment

_DEFAULT_PAGE_POINTS: Final = 100
_SHOWN_COMMENTS: Final = 100
_FIRST_ID: Final = UUID(int=0)


class PointService(PointServiceServicer):
    """Stores and serves points; only approved ones, unless the caller asks for points of any status.

    Args:
        database: database of the points.
        store_texts: stores the texts.
        deciding: rules for new points, and the clock for the age of texts.
        points_shown_after_s: age in seconds from which points without a verdict are shown; None: never.
        comments_shown_after_s: the same for comments.
    """

    def __init__(
        self,
        database: Database,
        store_texts: StoreTexts,
        deciding: Deciding,
        *,
        points_shown_after_s: float | None,
        comments_shown_after_s: float | None,
    ) -> None:
        self._database = database
        self._store_texts = store_texts
        self._deciding = deciding
        self._points_shown_s = points_shown_after_s
        self._comments_shown_s = comments_shown_after_s

    async def CreatePoint(self, request: CreatePointRequest, context: Context) -> PointMessage:
        """Store a point and return it; never waits for a verdict.

        Raises:
            AlreadyExists: another point has this id.
            InvalidArgument: a field is invalid.
        """
        point_id = UUID(request.point_id)
        await create_point(
            self._database,
            self._store_texts,
            self._deciding.current_rules().value,
            point_id=point_id,
            author=_author(request.author),
            tags=request.tags,
            description=request.description,
            latitude=_degrees("location.latitude", request.location.latitude, 90),
            longitude=_degrees("location.longitude", request.location.longitude, 180),
            region_ids=request.region_ids,
        )
        return await self._read(point_id, any_status=True, with_comments=False)

    async def GetPoint(self, request: GetPointRequest, context: Context) -> PointMessage:
        """Return a point with its first comments.

        Raises:
            NotFound: there is no such point, or this caller may not see it.
        """
        return await self._read(_point_id(request.name), any_status=request.any_status, with_comments=True)

    async def ListPoints(self, request: ListPointsRequest, context: Context) -> ListPointsResponse:
        """Return a page of points in an area.

        Raises:
            InvalidArgument: this service did not issue the page token, or the area is invalid.
        """
        limit = request.page_size or _DEFAULT_PAGE_POINTS
        area = Area(
            _degrees("south_west.latitude", request.south_west.latitude, 90),
            _degrees("south_west.longitude", request.south_west.longitude, 180),
            _degrees("north_east.latitude", request.north_east.latitude, 90),
            _degrees("north_east.longitude", request.north_east.longitude, 180),
        )
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            found = await points.list_area(
                tx,
                area,
                tags=request.tags,
                any_status=request.any_status,
                shown_after_s=self._points_shown_s,
                after=_read_place(request.page_token),
                limit=limit + 1,
            )
            page = found[:limit]
            texts = {point.point_id: await subjects.find_subject(tx, point_key(point.point_id)) for point in page}
        return ListPointsResponse(
            points=[_message(point, text) for point in page if (text := texts[point.point_id]) is not None],
            next_page_token=_write_place(page[-1]) if len(found) > limit else "",
        )

    async def AddComment(self, request: AddCommentRequest, context: Context) -> Comment:
        """Store a comment and return it; never waits for a verdict.

        Raises:
            NotFound: there is no such point.
            Aborted: the point changed concurrently at each attempt.
        """
        point_id = _point_id(request.parent)
        author = _author(request.author)
        index = await comment_point(
            self._database,
            self._store_texts,
            point_id=point_id,
            author=author,
            text=request.text,
            request_id=request.request_id,
        )
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            text = await subjects.find_subject(tx, comment_key(point_id, index))
        if text is None:
            raise point_not_found(point_id)
        return _comment(point_id, StoredComment(index, author, text.started, text.key), text)

    async def Vote(self, request: VoteRequest, context: Context) -> PointMessage:
        """Count a vote and return the point.

        Raises:
            NotFound: there is no such point, or it is not approved.
            Aborted: the point changed concurrently at each attempt.
        """
        point_id = _point_id(request.name)
        await self._read(point_id, any_status=False, with_comments=False)
        await vote_point(self._database, point_id=point_id, author_id=request.author_id, is_for=request.is_there)
        return await self._read(point_id, any_status=False, with_comments=False)

    async def DeletePoint(self, request: DeletePointRequest, context: Context) -> DeletePointResponse:
        """Remove a point."""
        return DeletePointResponse(
            removed=await remove_point(self._database, self._deciding.clock, point_id=_point_id(request.name))
        )

    async def _read(self, point_id: UUID, *, any_status: bool, with_comments: bool) -> PointMessage:
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            point = await points.find_point(tx, point_id)
            text = await subjects.find_subject(tx, point_key(point_id))
            if point is None or text is None or not (any_status or self._is_shown(point, text)):
                raise point_not_found(point_id)
            comments = await self._comments(tx, point_id, any_status=any_status) if with_comments else []
        return _message(point, text, comments)

    def _is_shown(self, point: Point, text: Subject) -> bool:
        if point.removed_at is not None:
            return False
        if text.status is Status.PENDING and self._points_shown_s is not None:
            return (self._deciding.clock.now() - text.started).total_seconds() > self._points_shown_s
        return text.status is Status.APPROVED

    async def _comments(self, tx: Tx, point_id: UUID, *, any_status: bool) -> list[Comment]:
        found = await points.list_comments(
            tx, point_id, any_status=any_status, shown_after_s=self._comments_shown_s, limit=_SHOWN_COMMENTS
        )
        texts = {comment.key: await subjects.find_subject(tx, comment.key) for comment in found}
        return [_comment(point_id, comment, text) for comment in found if (text := texts[comment.key]) is not None]


def _message(point: Point, text: Subject, comments: list[Comment] | None = None) -> PointMessage:
    message = PointMessage(
        name=f"points/{point.point_id}",
        author=_author_message(point.author),
        tags=point.tags,
        description=text.text,
        location=Location(latitude=point.latitude, longitude=point.longitude),
        region_ids=text.region_ids,
        votes_for=point.votes_for,
        votes_against=point.votes_against,
        version=point.version,
        moderation=moderation_message(text),
        comments=comments or [],
    )
    message.create_time.FromDatetime(point.created_at)
    message.update_time.FromDatetime(point.updated_at)
    return message


def _comment(point_id: UUID, comment: StoredComment, text: Subject) -> Comment:
    message = Comment(
        name=f"points/{point_id}/comments/{comment.index}",
        author=_author_message(comment.author),
        text=text.text,
        moderation=moderation_message(text),
    )
    message.create_time.FromDatetime(comment.created_at)
    return message


def _author_message(author: Author) -> AuthorMessage:
    return AuthorMessage(author_id=author.author_id, role=f"AUTHOR_ROLE_{author.role}")


def _author(message: AuthorMessage) -> Author:
    if message.role == AUTHOR_ROLE_UNSPECIFIED:
        return Author(message.author_id, AuthorRole.USER)
    return Author(message.author_id, AuthorRole(AuthorRoleValue.Name(message.role).removeprefix("AUTHOR_ROLE_")))


def _point_id(name: str) -> UUID:
    try:
        return UUID(name.removeprefix("points/"))
    except ValueError:
        raise _invalid("name", f"{name!r} is not of the form points/{{uuid}}") from None


def _degrees(field: str, value: float, most: int) -> float:
    if not -most <= value <= most:
        raise _invalid(field, f"must lie between -{most} and {most} degrees")
    return value


def _invalid(field: str, what: str) -> InvalidArgument:
    return InvalidArgument("POINT_INVALID", f"{field}: {what}", violations=[FieldViolation(field, what)])


def _write_place(point: Point) -> str:
    return write_place(point.created_at, str(point.point_id))


def _read_place(token: str) -> tuple[datetime | str, UUID]:
    time, point_id = parse_place(token, begin=str(_FIRST_ID))
    try:
        return time, UUID(point_id)
    except ValueError:
        raise page_token_refused() from None
