"""The engine refuses requests that cannot be stored before any statement, and cleans messages of runs."""

from __future__ import annotations

import random
import string
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from classifeed_jobs import (
    Fixed,
    JobAdmin,
    JobContext,
    JobFilter,
    JobRequest,
    NotStorable,
    Progress,
    QueueLimits,
    Schedule,
    Schedules,
)

from ..conftest import Bench

LONG = "".join(random.Random(1).choices(string.printable[:90], k=8000))
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "lock key": ({"lock_key": LONG}, "lock_key has 8,000 characters, more than 500: use a shorter one, such as a hash"),
    "idempotency key": ({"idempotency_key": LONG}, "idempotency_key has 8,000 characters"),
    "partition key": ({"partition_key": LONG}, "partition_key has 8,000 characters"),
    "empty key": ({"lock_key": ""}, "lock_key is empty"),
    "nul": ({"producer": "a\0"}, "producer has a NUL character"),
    "surrogate": ({"consumer_group": "a\ud800"}, "consumer_group has half a surrogate pair"),
    "task": ({"task": "t" * 201}, "task has 201 characters"),
    "queue": ({"queue": "q\n"}, "queue must have no control characters"),
    "nan": ({"args": {"a": [float("nan")]}}, r"args has a number that is not finite at a\[0\]"),
    "name in args": ({"args": {"a\ud800": 1}}, "args has half a surrogate pair in a name"),
    "trace": ({"trace_context": {"traceparent": "\0"}}, "trace_context has a NUL character"),
    "attempts": ({"max_attempts": 0}, "max_attempts is 0"),
    "lease": ({"lease_ttl_s": 100_000}, "lease_ttl_s is 100000: use a number from 1 to 86400"),
}
each_wrong = pytest.mark.parametrize(("changes", "message"), WRONG.values(), ids=WRONG)


@each_wrong
async def test_wrong_request_is_refused_before_any_statement(
    bench: Bench, changes: dict[str, Any], message: str
) -> None:
    good = JobRequest("q", "noop")
    bad = JobRequest(**{"queue": "q", "task": "noop"} | changes)
    async with bench.db.transaction() as tx:
        with pytest.raises(NotStorable, match=message):
            await bench.store.enqueue_many(tx, [good, bad])
        # The transaction is usable, because no statement was sent.
        await bench.store.enqueue(tx, "q", "noop", {})
    if bad.idempotency_key is None:
        with pytest.raises(NotStorable, match=message):
            async with bench.db.transaction() as tx:
                await bench.store.copy_many(tx, [good, bad])
    assert await bench.value("SELECT count(*) FROM dl_jobs") == 1


@pytest.mark.parametrize(
    "changes", [{"name": "n\0"}, {"lock_key": LONG}, {"args": {"a": float("inf")}}, {"priority": 2**31}]
)
async def test_wrong_schedule_is_refused(bench: Bench, changes: dict[str, Any]) -> None:
    given: dict[str, Any] = {"name": "n", "queue": "q", "task": "noop", "every_s": 60}
    async with bench.db.transaction() as tx:
        with pytest.raises(NotStorable, match="was not stored"):
            await Schedules().put(tx, Schedule(**given | changes))
        assert await Schedules().list(tx) == []


async def test_commands_refuse_or_clean(bench: Bench) -> None:
    admin = JobAdmin(bench.db, bench.store)
    for wrong in ("q\0", "q" * 64, "q\ud800"):
        with pytest.raises(NotStorable):
            await admin.pause_queue(wrong, by="anna")
        with pytest.raises(NotStorable):
            await admin.set_limits(wrong, QueueLimits(max_running=1), by="anna")
        with pytest.raises(NotStorable):
            await admin.list_jobs(JobFilter(queue=wrong))
        with pytest.raises(NotStorable):
            await admin.retry_failed(JobFilter(queue=wrong), by="anna")
    with pytest.raises(ValueError, match="rate_per_s must be above 0"):
        QueueLimits(rate_per_s=float("nan"))
    job_id = await bench.enqueue()
    with capture_logs():
        await admin.cancel(job_id, by="an\0na", reason="\ud800")
    events = await admin.list_events(job_id)
    assert events[-1].payload == {"by": "an\ufffdna", "reason": "\ufffd"}


async def test_message_that_cannot_be_stored_costs_no_attempt(bench: Bench) -> None:
    @bench.registry.register("bad", backoff=Fixed(0.01))
    async def bad(ctx: JobContext, args: dict[str, Any]) -> None:
        raise ValueError(f"attempt {ctx.attempt}: \ud800\0")

    @bench.registry.register("unknown", max_unknown_faults=2, backoff=Fixed(0.01))
    async def unknown(ctx: JobContext, args: dict[str, Any]) -> None:
        raise ValueError(f"\udfff{ctx.attempt}")

    async with bench.working():
        ids = [await bench.enqueue("bad", max_attempts=3), await bench.enqueue("unknown")]
        assert await bench.ended(*ids) == ["failed"] * 2
    first, second = [await bench.job(job_id) for job_id in ids]
    assert (first.attempt, first.error) == (3, "ValueError: attempt 3: \ufffd\ufffd")
    assert (second.attempt, second.reason) == (2, "UNKNOWN_FAULTS")


async def test_progress_that_cannot_be_stored_stops_no_heartbeat(bench: Bench) -> None:
    @bench.registry.register("steps")
    async def steps(ctx: JobContext, args: dict[str, Any]) -> AsyncIterator[Progress]:
        yield Progress(1, 2, {"file": "\udcff\0", "rate": float("nan")})

    async with bench.working():
        assert await bench.ended(await bench.enqueue("steps")) == ["succeeded"]


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ("\0", "has a NUL character"),
        ({"a": "\ud800"}, "has half a surrogate pair at a"),
        (float("inf"), "has a number that is not finite"),
        ("x" * (1 << 20), "bytes of JSON, more than"),
    ],
)
async def test_result_that_cannot_be_stored_fails_its_job_alone(bench: Bench, result: Any, why: str) -> None:
    @bench.registry.register("bad")
    async def bad(ctx: JobContext, args: dict[str, Any]) -> Any:
        return result

    @bench.registry.register("noop")
    async def noop(ctx: JobContext, args: dict[str, Any]) -> str:
        return "a literal \\u0000 is no NUL"

    async with bench.working():
        ids = [await bench.enqueue("bad"), await bench.enqueue("noop")]
        assert await bench.ended(*ids) == ["failed", "succeeded"]
    error = (await bench.job(ids[0])).error
    assert error is not None
    assert "the result cannot be stored: " in error
    assert why in error


async def test_checkpoint_that_cannot_be_stored_is_refused(bench: Bench) -> None:
    raised: list[Exception] = []

    @bench.registry.register("phases")
    async def phases(ctx: JobContext, args: dict[str, Any]) -> None:
        async with ctx.guarded_transaction() as tx:
            try:
                await ctx.save_checkpoint(tx, {"at": float("nan")})
            except NotStorable as error:
                raised.append(error)
            await ctx.save_checkpoint(tx, {"at": 1})

    async with bench.working():
        job_id = await bench.enqueue("phases")
        assert await bench.ended(job_id) == ["succeeded"]
    assert "checkpoint has a number that is not finite at at" in str(raised[0])
    assert (await bench.job(job_id)).checkpoint == {"at": 1}
