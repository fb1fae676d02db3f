"""SliceJob: "for each keyset slice do f", as a job that can die at any step and goes on."""

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
    """What one call of a slice function did.

    Attributes:
        next: where the next slice begins, JSON; None: this was the last one.
        processed: units done in this slice, for progress.
        total: units in all, where known.
    """

    next: Cursor | None
    processed: int = 0
    total: int | None = None


@dataclass(frozen=True, slots=True)
class SliceJob(Generic[Args]):
    """Handler of a task that works through a key range slice by slice.

    Each slice is one transaction, under the job's guard: its effects and the cursor move together or not at all, so
    every slice takes effect once, whatever dies when. Locks last as long as one slice. Register an instance's `run`:

        register("offers.sweep", args=SweepArgs, resumes=True)(SliceJob(sweep_slice).run)

    Attributes:
        do_slice: `(tx, args, cursor, ctx) -> Slice`; reads from `cursor` on (None: from the start) in key order, with
            a LIMIT, and writes its effects in `tx`. May be called again for a slice that did not commit.
        at_end: `(tx, args, ctx)`, in the transaction of the last slice.
    """

    do_slice: Callable[[Tx, Args, Cursor | None, JobContext], Awaitable[Slice]]
    at_end: Callable[[Tx, Args, JobContext], Awaitable[None]] | None = field(default=None)

    async def run(self, ctx: JobContext, args: Args) -> AsyncIterator[Progress]:
        """Work from the checkpoint on; yields after each slice.

        Raises:
            ClaimLost: another run has the job; the slice under way is rolled back.
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
