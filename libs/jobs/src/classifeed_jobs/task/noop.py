"""The reference task: `noop` sleeps three times and reports its progress."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from pydantic import BaseModel, ConfigDict, Field

from classifeed_jobs.model.outcomes import Progress
from classifeed_jobs.task.context import JobContext
from classifeed_jobs.task.registry import register


class NoopArgs(BaseModel):
    """Durations of the three steps, in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sleep1: float = Field(default=0, ge=0, le=86400)
    sleep2: float = Field(default=0, ge=0, le=86400)
    sleep3: float = Field(default=0, ge=0, le=86400)


@register("noop")
async def noop(ctx: JobContext, args: NoopArgs) -> AsyncIterator[Progress]:
    """Sleep three times, with a safe point after each sleep."""
    del ctx
    for step, sleep_s in enumerate((args.sleep1, args.sleep2, args.sleep3), start=1):
        await asyncio.sleep(sleep_s)
        yield Progress(processed=step, total=3)
