"""Methods for comparisons of stored pictures with the URLs that offers use."""

from __future__ import annotations

from classifeed.pictures.v1.picture_service_pb2 import Comparison as ComparisonMessage
from classifeed.pictures.v1.picture_service_pb2 import (
    ConfirmComparisonRequest,
    ListComparisonsRequest,
    ListComparisonsResponse,
)
from classifeed_common.db import Database
from classifeed_common.errors import FailedPrecondition, NotFound
from classifeed_common.rpc.call import remaining_s
from classifeed_common.rpc.context import Context
from classifeed_jobs import JobStore
from classifeed_pictures.jobs.compare import enqueue_confirmed
from classifeed_pictures.store.states import comparisons
from classifeed_pictures.store.states.comparisons import Comparison


class ComparisonMethods:
    """Lists comparisons and confirms held ones.

    Args:
        database: database with the comparisons.
        jobs: job store for confirmed comparisons.
    """

    def __init__(self, database: Database, jobs: JobStore) -> None:
        self._database = database
        self._jobs = jobs

    async def ListComparisons(self, request: ListComparisonsRequest, context: Context) -> ListComparisonsResponse:
        """Return the newest comparisons."""
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            found = await comparisons.list_comparisons(tx)
        return ListComparisonsResponse(comparisons=map(_message, found))

    async def ConfirmComparison(self, request: ConfirmComparisonRequest, context: Context) -> ComparisonMessage:
        """Continue a held comparison; a confirmed one is returned as it is."""
        async with self._database.transaction(timeout_s=remaining_s()) as tx:
            if await comparisons.confirm(tx, request.comparison_id):
                await enqueue_confirmed(self._jobs, tx, request.comparison_id)
            found = await comparisons.find_comparison(tx, request.comparison_id)
        if found is None:
            raise NotFound(
                "COMPARISON_UNKNOWN",
                f"There is no comparison {request.comparison_id}. `classifeed picture comparisons` lists the newest.",
            )
        if not found.is_confirmed:
            raise FailedPrecondition(
                "COMPARISON_NOT_HELD",
                f"Comparison {found.comparison_id} is {found.state}. Only one that is HELD can be confirmed.",
            )
        return _message(found)


def _message(comparison: Comparison) -> ComparisonMessage:
    message = ComparisonMessage(
        comparison_id=comparison.comparison_id,
        state=f"COMPARISON_STATE_{comparison.state}",
        compared=comparison.compared,
        unused=comparison.unused,
    )
    if comparison.snapshot_at is not None:
        message.snapshot_time.FromDatetime(comparison.snapshot_at)
    return message
