"""Methods about the offers in the file of a task."""

from __future__ import annotations

from typing import Final

from classifeed.feeds.v1.task_service_pb2 import (
    ListOfferErrorsRequest,
    ListOfferErrorsResponse,
    LocateOfferRequest,
    OfferLocation,
    UnlistedIssues,
)
from classifeed_common.db import Database
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.paging import read_page_values, write_page_values
from classifeed_processor.app.locate_offer import LocateOffer
from classifeed_processor.domain.statistics import unlisted_of
from classifeed_processor.rpc.task_service.context import Context
from classifeed_processor.rpc.task_service.requests import require_task, task_key
from classifeed_processor.store import reading

_DEFAULT_PAGE_ERRORS: Final = 100


class OfferMethods:
    """What is wrong with offers, and where they stand in the file."""

    def __init__(self, database: Database, locate_offer: LocateOffer) -> None:
        self._database = database
        self._locate_offer = locate_offer

    async def ListOfferErrors(self, request: ListOfferErrorsRequest, context: Context) -> ListOfferErrorsResponse:
        """Return a page of a task's issues, errors before warnings, each in the order of the file.

        Raises:
            NotFound: there is no such task.
        """
        key = task_key("parent", request.parent)
        limit = request.page_size or _DEFAULT_PAGE_ERRORS
        level, line, error_id = read_page_values(request.page_token, (0, 0, ""))
        parameters = {
            "after_level": level,
            "after_line": line,
            "after_error_id": error_id,
            "level": request.level,
            "kind": request.kind,
            "code": request.code,
            "external_id": request.external_id,
            "limit": limit + 1,
        }
        if any("\0" in str(parameters[name]) for name in ("code", "external_id")):
            return ListOfferErrorsResponse()
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            task = await require_task(tx, key)
            errors = await reading.list_errors(tx, key, task.run, parameters)
        token = ""
        if len(errors) > limit:
            last = errors[limit - 1]
            token = write_page_values(last.level, last.line, last.error_id)
        unlisted = unlisted_of(task.statistics, level=request.level, kind=request.kind, code=request.code)
        return ListOfferErrorsResponse(
            errors=errors[:limit],
            next_page_token=token,
            unlisted=[UnlistedIssues(code=code, count=count) for code, count in unlisted.items()],
        )

    async def LocateOffer(self, request: LocateOfferRequest, context: Context) -> OfferLocation:
        """Find an offer in the file of a task, by reading the file; one file at a time, the others wait.

        Raises:
            NotFound: there is no such task.
            FailedPrecondition: its file is gone.
        """
        key = task_key("parent", request.parent)
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            task = await require_task(tx, key)
        return await self._locate_offer(task, request.external_id, timeout_s=remaining_s())
