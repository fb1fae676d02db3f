"""Methods about the offers in the file of a task."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Final

from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed.feeds.v1.task_service_pb2 import (
    ExportOfferErrorsRequest,
    ExportOfferErrorsResponse,
    ListOfferErrorsRequest,
    ListOfferErrorsResponse,
    LocateOfferRequest,
    OfferLocation,
    UnlistedIssues,
)
from classifeed_common.db import Database
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_common.rpc.idle_readers import disconnect_idle
from classifeed_common.rpc.paging import read_page_values, write_page_values
from classifeed_feeds.issue_words import IssueWords
from classifeed_processor.app.issues.export_issues import ExportIssues
from classifeed_processor.app.issues.read_issues import IssuePlace, ReadIssues
from classifeed_processor.app.locate_offer import LocateOffer
from classifeed_processor.domain.issue_blocks import IssueFilter
from classifeed_processor.domain.statistics import unlisted_of
from classifeed_processor.rpc.task_service.requests import require_task, task_key

_DEFAULT_PAGE_ERRORS: Final = 100


class OfferMethods:
    """Issues of offers, and the places of offers in the file."""

    def __init__(
        self, database: Database, read_issues: ReadIssues, export_issues: ExportIssues, locate_offer: LocateOffer
    ) -> None:
        self._database = database
        self._read_issues = read_issues
        self._export_issues = export_issues
        self._locate_offer = locate_offer

    async def ListOfferErrors(self, request: ListOfferErrorsRequest, context: Context) -> ListOfferErrorsResponse:
        """Return a page of a task's issues, errors before warnings, each in the order of the file.

        Raises:
            NotFound: there is no such task.
            FailedPrecondition: ISSUES_GONE.
        """
        key = task_key("parent", request.parent)
        limit = request.page_size or _DEFAULT_PAGE_ERRORS
        level, ordinal, line, error_id, seen = read_page_values(request.page_token, (0, 0, 0, "", 0))
        place = IssuePlace((level, ordinal, line, error_id), seen)
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            task = await require_task(tx, key)
        words = IssueWords.of_format(task.format)
        errors: list[OfferError] = []
        token = ""
        async with aclosing(self._read_issues(key, task.run, wanted_of(request), place)) as found:
            async for error, after in found:
                if len(errors) == limit:
                    token = write_page_values(*place.key, place.seen)
                    break
                place = after
                error.task = task.name
                words.describe(error)
                errors.append(error)
        unlisted = unlisted_of(task.statistics, level=request.level, kind=request.kind, code=request.code)
        return ListOfferErrorsResponse(
            errors=errors,
            next_page_token=token,
            unlisted=[UnlistedIssues(code=code, count=count) for code, count in unlisted.items()],
        )

    async def ExportOfferErrors(
        self, request: ExportOfferErrorsRequest, context: Context
    ) -> AsyncIterator[ExportOfferErrorsResponse]:
        """Yield a file with all issues that ListOfferErrors lists, piece by piece.

        Raises:
            NotFound: there is no such task.
            FailedPrecondition: ISSUES_GONE.
            ResourceExhausted: EXPORTS_FULL.
        """
        key = task_key("parent", request.parent)
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            task = await require_task(tx, key)
        pieces = self._export_issues(task, request.format, wanted_of(request))
        async with aclosing(pieces), aclosing(disconnect_idle(pieces)) as taken:
            async for content, count in taken:
                yield ExportOfferErrorsResponse(content=content, issues=count)

    async def LocateOffer(self, request: LocateOfferRequest, context: Context) -> OfferLocation:
        """Locate an offer in the file of a task by reading the file; one file is read at a time.

        Raises:
            NotFound: the task does not exist.
            FailedPrecondition: the file is gone.
        """
        key = task_key("parent", request.parent)
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            task = await require_task(tx, key)
        return await self._locate_offer(task, request.external_id, timeout_s=remaining_s())


def wanted_of(request: ListOfferErrorsRequest | ExportOfferErrorsRequest) -> IssueFilter:
    """Return the filter of a request for issues."""
    return IssueFilter(request.level, request.kind, request.code, request.field, request.external_id)
