"""The job `cleanweb.callback`: delivers the verdicts about a text, in order per key, for up to 72 hours."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from classifeed_cleanweb.clients.receivers import Receivers
from classifeed_cleanweb.metrics import CALLBACKS
from classifeed_cleanweb.store import callbacks
from classifeed_cleanweb.store.reviews import Reviewed
from classifeed_common.db import Database, Tx
from classifeed_common.errors import Unavailable
from classifeed_jobs import Exponential, FailedJob, JobContext, JobStore, Registry, bounded_key

QUEUE: Final = "cleanweb.callbacks"
TASK: Final = "cleanweb.callback"
GIVE_UP_S: Final = 72 * 3600.0  # time for the receiver's operators to correct it
AT_ONCE: Final = 16  # deliveries at a time in a process


class CallbackArgs(BaseModel):
    """The callback to deliver."""

    callback_id: int


async def enqueue_callback(
    store: JobStore, tx: Tx, callback_id: int, service: str, environment: str, key: str, *, is_repeated: bool = False
) -> None:
    """Enqueue a delivery; deliveries of one key run one at a time, and one receiver does not delay the others.

    Args:
        store: store of the jobs.
        tx: transaction that enqueues the job.
        callback_id: number of the callback.
        service: service of the receiver.
        environment: environment of the receiver.
        key: key of the text.
        is_repeated: whether a given-up callback gets another job; otherwise it has one job at most.
    """
    receiver = f"{service}/{environment}"
    await store.enqueue(
        tx,
        QUEUE,
        TASK,
        CallbackArgs(callback_id=callback_id),
        lock_key=bounded_key(f"callback:{receiver}/{key}"),
        partition_key=receiver,
        idempotency_key=None if is_repeated else f"callback/{callback_id}",
        max_attempts=None,
        max_worker_deaths=None,
    )


def register_callback(registry: Registry, database: Database, receivers: Receivers) -> None:
    """Add the task to a registry."""

    async def deliver(ctx: JobContext, args: CallbackArgs) -> None:
        """Deliver a callback after the older ones of its key, so that a verdict never arrives after a newer one."""
        async with database.transaction() as tx:
            due = await callbacks.list_up_to(tx, args.callback_id, give_up_s=GIVE_UP_S)
        if not due or due[-1].given_up_at is not None:
            return
        for callback in due:
            try:
                await send(callback)
            except Unavailable as error:
                is_over = callback.is_late or callback.given_up_at is not None
                is_given_up_now = callback.is_late and callback.given_up_at is None
                CALLBACKS.labels("given_up" if is_given_up_now else "failed").inc()
                async with ctx.guarded_transaction() as tx:
                    await callbacks.note_fault(tx, callback.callback_id, error.message)
                    if is_over:
                        await callbacks.give_up(tx, callback.callback_id)
                if not is_over:
                    raise
            else:
                CALLBACKS.labels("delivered").inc()
                async with ctx.guarded_transaction() as tx:
                    await callbacks.delete_callback(tx, callback.callback_id)

    async def send(callback: Any) -> None:
        await receivers.send(
            callback.service,
            callback.environment,
            callback.key,
            Reviewed(callback.verdicts, callback.reviewers),
            request_id=f"callback-{callback.callback_id}",
        )

    registry.register(TASK, args=CallbackArgs, backoff=Exponential(first_s=1, cap_s=600), on_failed=end_unfinished)(
        deliver
    )


async def end_unfinished(tx: Tx, args: CallbackArgs, job: FailedJob) -> None:
    """Give up a callback whose job ended without delivery, so that it is listed and can be sent again."""
    await callbacks.note_fault(tx, args.callback_id, job.message)
    await callbacks.give_up(tx, args.callback_id)
