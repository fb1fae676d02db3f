"""The job `cleanweb.callback`: delivers the verdicts about a text, in the order of its key, for up to 72 hours."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel

from classifeed_cleanweb.clients.receivers import Receivers
from classifeed_cleanweb.metrics import CALLBACKS
from classifeed_cleanweb.store import callbacks
from classifeed_common.db import Database, Tx
from classifeed_common.errors import Unavailable
from classifeed_jobs import Exponential, JobContext, JobStore, Registry

QUEUE: Final = "cleanweb.callbacks"
TASK: Final = "cleanweb.callback"


class CallbackArgs(BaseModel):
    """Which callback."""

    callback_id: int


async def enqueue_callback(store: JobStore, tx: Tx, callback_id: int, key: str) -> None:
    """Enqueue a delivery; those of one key run one after another."""
    args = CallbackArgs(callback_id=callback_id)
    await store.enqueue(tx, QUEUE, TASK, args, lock_key=f"callback:{key}", max_attempts=None)


def register_callback(registry: Registry, database: Database, receivers: Receivers, *, give_up_s: float) -> None:
    """Add the task to a registry."""

    async def deliver(ctx: JobContext, args: CallbackArgs) -> None:
        async with database.transaction() as tx:
            callback = await callbacks.find_callback(tx, args.callback_id, give_up_s=give_up_s)
        if callback is None or callback.given_up_at is not None:
            return
        try:
            await receivers.send(
                callback.service,
                callback.environment,
                callback.key,
                callback.verdicts,
                request_id=f"callback-{args.callback_id}",
            )
        except Unavailable as error:
            CALLBACKS.labels("given_up" if callback.is_late else "failed").inc()
            async with database.transaction() as tx:
                await callbacks.note_fault(tx, args.callback_id, error.message)
                if callback.is_late:
                    await callbacks.give_up(tx, args.callback_id)
            if callback.is_late:
                return
            raise
        CALLBACKS.labels("delivered").inc()
        async with ctx.guarded_transaction() as tx:
            await callbacks.delete_callback(tx, args.callback_id)

    registry.register(TASK, args=CallbackArgs, backoff=Exponential(first_s=1, cap_s=600))(deliver)
