"""The job `offers.sweep`: removes the offers that a whole load lacks, and replies to the end of its run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import structlog
from pydantic import BaseModel

from classifeed.feeds.v1.offer_results_pb2 import TaskEndResult
from classifeed_common.db import Tx
from classifeed_common.outbox import Outbox
from classifeed_domain.topics import FEEDS_OFFER_RESULTS
from classifeed_jobs import TERMINAL, Exponential, FailedJob, JobContext, JobStore, Progress, Registry
from classifeed_offers.app.loads.sweep_run import abandon_sweep, sweep_at_once, sweep_step
from classifeed_offers.consumers.requests import reply_message
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.offers import Namespace, Run

_log = structlog.get_logger(__name__)
QUEUE: Final = "offers.sweep"
TASK: Final = "offers.sweep"


class SweepArgs(BaseModel):
    """The run to sweep."""

    seller_id: str
    namespace: str
    task_id: int
    run: int

    @property
    def key(self) -> RunKey:
        """Identity of the run."""
        return RunKey(Namespace(self.seller_id, self.namespace), Run(self.task_id, self.run))


class SweepJobs:
    """Sweeps a small run in the transaction that records its end, or enqueues a job for a large one.

    Args:
        store: store of the jobs.
        guard: limits above which a load is held.
        at_once_offers: size in offers up to which a namespace is swept without a job. The seller of a small feed gets
            the result earlier, because a job costs a claim and three transactions of a busy process (ADR 0040).
    """

    def __init__(self, store: JobStore, *, guard: Guard, at_once_offers: int = 0) -> None:
        self._store = store
        self._guard = guard
        self._at_once_offers = at_once_offers

    async def start(self, tx: Tx, run: RunKey) -> TaskEndResult | None:
        """Sweep `run` and return its result, or enqueue its sweep unless one is live.

        The job is retried without limit, because the seller's task waits for its result.

        If an operator ended the job before the sweep was complete, a successor is enqueued. Two jobs at a time would do
        no harm: each step continues where the previous one stopped.
        """
        if self._at_once_offers:
            result = await sweep_at_once(tx, run, guard=self._guard, most_offers=self._at_once_offers)
            if result is not None:
                return result
        (seller_id, namespace), (task_id, number) = run
        key = f"offers.sweep:{seller_id}:{namespace}:{task_id}:{number}"
        is_live = False
        while not is_live:
            enqueued = await self._store.enqueue(
                tx,
                QUEUE,
                TASK,
                SweepArgs(seller_id=seller_id, namespace=namespace, task_id=task_id, run=number),
                lock_key=f"offers.sweep:{seller_id}:{namespace}",
                partition_key=seller_id,
                idempotency_key=key,
                max_attempts=None,
            )
            is_live = enqueued.created or (enqueued.status is not None and enqueued.status not in TERMINAL)
            key = f"{key}+{str(enqueued.job_id)[:8]}"
        return None


def sweep_registry(outbox: Outbox, *, guard: Guard, results_topic: str = FEEDS_OFFER_RESULTS) -> Registry:
    """Return the tasks of this service for its worker; `guard` has the limits above which a load is held."""
    registry = Registry()

    async def end_unfinished(tx: Tx, args: SweepArgs, job: FailedJob) -> None:
        result = await abandon_sweep(tx, args.key)
        if result is not None:
            names = args.key.names
            _log.error("sweep.abandoned", **names, job_id=str(job.job_id), incident=job.incident, message=job.message)
            await outbox.put(tx, [reply_message(result, topic=results_topic)])

    @registry.register(
        TASK, backoff=Exponential(first_s=1, cap_s=60), resumes=True, max_unknown_faults=5, on_failed=end_unfinished
    )
    async def sweep(ctx: JobContext, args: SweepArgs) -> AsyncIterator[Progress]:
        """Run the steps, each in a transaction under the job's guard; after a crash, continue at the same step.

        It works like a SliceJob without a checkpoint: each step takes its work from the table of slices.
        """
        steps = 0
        more = True
        while more:
            async with ctx.guarded_transaction() as tx:
                more, result = await sweep_step(tx, args.key, guard=guard)
                if result is not None:
                    await outbox.put(tx, [reply_message(result, topic=results_topic)])
            steps += 1
            yield Progress(processed=steps)
        outbox.wake()

    return registry
