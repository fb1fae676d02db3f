"""Reports the outcome of an order through the outbox."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TypeAlias

from classifeed.pictures.v1.orders_pb2 import CopyOrder, DownloadOrder, LoadResult, Unchanged
from classifeed.pictures.v1.picture_pb2 import LoadFailure, PictureInfo
from classifeed_common.db import Tx, after_commit
from classifeed_common.kafka import Message, message_of
from classifeed_common.outbox import Outbox
from classifeed_domain.topics import PICTURES_LOADS
from classifeed_jobs import FailedJob
from classifeed_pictures.domain.lifecycle.retries import INTERNAL_ERROR
from classifeed_pictures.metrics import LOADS
from classifeed_pictures.store.states.states import get_now

Outcome: TypeAlias = PictureInfo | LoadFailure | Unchanged


class ReportLoad:
    """Reports results of orders.

    Args:
        outbox: outbox for the results.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def report(self, tx: Tx, order: CopyOrder | DownloadOrder, outcome: Outcome, *, fresh_for_s: int = 0) -> None:
        """Report a result; several results of one order are harmless."""
        message = load_message(order, outcome, at=await get_now(tx), fresh_for_s=fresh_for_s)
        await self._outbox.put(tx, [message])
        after_commit(tx, partial(_count, _code_of(outcome)))

    async def report_fault(self, tx: Tx, order: CopyOrder | DownloadOrder, job: FailedJob) -> None:
        """Report that a job failed permanently, so that no request waits for it."""
        failure = LoadFailure(
            code=INTERNAL_ERROR, message=f"The picture could not be stored. The job {job.job_id} has the reason."
        )
        await self.report(tx, order, failure)


def load_message(order: CopyOrder | DownloadOrder, outcome: Outcome, *, at: datetime, fresh_for_s: int = 0) -> Message:
    """Return the result of an order as a message."""
    result = LoadResult(
        url=order.url,
        url_hash=order.url_hash,
        namespace=order.namespace,
        attempt=order.attempt,
        fresh_for_s=fresh_for_s,
    )
    result.load_time.FromDatetime(at)
    match outcome:
        case PictureInfo():
            result.info.CopyFrom(outcome)
        case LoadFailure():
            result.failure.CopyFrom(outcome)
        case Unchanged():
            result.unchanged.CopyFrom(outcome)
    return message_of(PICTURES_LOADS, order.url_hash, result)


def _code_of(outcome: Outcome) -> str:
    if isinstance(outcome, LoadFailure):
        return outcome.code
    return "OK" if isinstance(outcome, PictureInfo) else "UNCHANGED"


def _count(code: str) -> None:
    LOADS.labels(code).inc()
