"""SliceJob: a handler that processes a key range in slices, and resumes after a crash at any step."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from classifeed_common.db import Tx
from classifeed_jobs.model.outcomes import Progress
from classifeed_jobs.task.context import JobContext

Args = TypeVar("Args")
Cursor: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Slice:
    """The result of a call of a slice function.

    Attributes:
        next: Start of the next slice, a JSON value; None after the last slice.
        processed: Number of units processed in this slice, for progress.
        total: Total number of units, if known.
    """

    next: Cursor | None
    processed: int = 0
    total: int | None = None


@dataclass(frozen=True, slots=True)
class SliceJob(Generic[Args]):
    """Handler of a task that processes a key range slice by slice.

    Each slice is one transaction, under the job's guard. Its effects and the cursor commit together, so every slice
    takes effect exactly once, even after crashes. Locks are held for one slice. Register an instance's `run`:

        register("offers.sweep", args=SweepArgs, resumes=True)(SliceJob(sweep_slice).run)

    Attributes:
        do_slice: Function `(tx, args, cursor, ctx) -> Slice`. It reads from `cursor` on (None at the start) in key
            order, with a LIMIT, and writes its effects in `tx`. It may be called again for a slice that did not commit.
        at_end: Function `(tx, args, ctx)`, called in the transaction of the last slice.
    """

    do_slice: Callable[[Tx, Args, Cursor | None, JobContext], Awaitable[Slice]]
    at_end: Callable[[Tx, Args, JobContext], Awaitable[None]] | None = field(default=None)

    async def run(self, ctx: JobContext, args: Args) -> AsyncIterator[Progress]:
        """Process slices from the checkpoint on; yield progress after each slice.

        Raises:
            ClaimLost: Another run has the job; the current slice is rolled back.
        """
        state = ctx.checkpoint or {"cursor": None, "processed": 0, "is_done": False}
        while not state["is_done"]:
            async with ctx.guarded_transaction() as tx:
                done = await self.do_slice(tx, args, state["cursor"], ctx)
                state = {
                    "cursor": done.next,
                    "processed": state["processed"] + done.processed,
                    "is_done": done.next is None,
                }
                if done.next is None and self.at_end is not None:
                    await self.at_end(tx, args, ctx)
                await ctx.save_checkpoint(tx, state)
            yield Progress(processed=state["processed"], total=done.total)
