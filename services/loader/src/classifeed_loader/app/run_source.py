"""Fetches a source at once, on request."""

from __future__ import annotations

from classifeed.feeds.v1 import feed_pb2
from classifeed.feeds.v1.feed_source_service_pb2 import RunSourceRequest
from classifeed_common.db import Database
from classifeed_common.errors import FailedPrecondition, FieldViolation, InvalidArgument
from classifeed_jobs import JobStore
from classifeed_loader.app.queue_fetches import REQUESTED_PRIORITY, queue_fetches
from classifeed_loader.domain.fetches import FetchKey
from classifeed_loader.store import queueing, sources


async def run_source(
    database: Database, jobs: JobStore, request: RunSourceRequest, *, min_interval_s: float, timeout_s: float | None
) -> FetchKey:
    """Store the source and return the fetch that the request creates, or created before.

    Idempotent by request_id. The fetch uses the newest known version, even if the request has an older one.

    Raises:
        FailedPrecondition: the source is removed.
        InvalidArgument: the request_id was used for another namespace.
    """
    source = request.source
    async with database.transaction(timeout_s=timeout_s) as tx:
        await sources.put(tx, [source], min_interval_s=min_interval_s)
        found = await queueing.find_request(tx, source.seller_id, request.request_id)
        if found is None:
            known = await sources.find(tx, source.seller_id, source.namespace)
            assert known is not None
            feed_version, status = known
            if status == feed_pb2.FEED_STATUS_REMOVED:
                raise FailedPrecondition(
                    "FEED_REMOVED",
                    f"The feed {source.namespace} of seller {source.seller_id} was removed. Create it again to fetch "
                    f"it.",
                )
            made = await queueing.insert_request(
                tx,
                source.seller_id,
                source.namespace,
                feed_version=feed_version,
                forced=request.force,
                request_id=request.request_id,
            )
            if made is not None:
                await queue_fetches(tx, jobs, [made], priority=REQUESTED_PRIORITY)
                return made
            # A concurrent call with this request_id was faster; only a new statement sees what it committed.
            found = await queueing.find_request(tx, source.seller_id, request.request_id)
            assert found is not None
    if found.namespace != source.namespace:
        raise InvalidArgument(
            "REQUEST_ID_REUSED",
            f"The request_id {request.request_id} was used for another namespace. Send a new one with a new request.",
            violations=[FieldViolation("request_id", "was used for another namespace")],
        )
    return found
