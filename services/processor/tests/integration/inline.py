"""Tasks of one namespace, run in this process, with a service offers that replies at once."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from classifeed.feeds.v1 import offer_results_pb2, task_pb2
from classifeed.feeds.v1.load_pb2 import HOLD_REASON_PRICES, HOLD_REASON_REMOVALS, LoadHold
from classifeed.feeds.v1.offer_requests_pb2 import (
    HOLD_DECISION_ALLOW_CHANGES,
    HOLD_DECISION_ALLOW_REMOVALS,
    HOLD_DECISION_CONFIRM,
    HOLD_DECISION_REJECT,
    HOLD_DECISION_UNSPECIFIED,
    OfferBatch,
    TaskEnd,
)
from classifeed.feeds.v1.offer_results_pb2 import OfferBatchResult, TaskEndResult
from classifeed.feeds.v1.task_pb2 import Task
from classifeed.feeds.v1.task_service_pb2 import CreateTaskRequest
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database, Tx
from classifeed_common.errors import Unavailable
from classifeed_common.kafka import Message
from classifeed_jobs import JobContext, JobStore, Progress
from classifeed_processor.app.runs.process_feed import process_feed
from classifeed_processor.app.runs.send_run import RunParts
from classifeed_processor.app.runs.take_results import take_results
from classifeed_processor.app.tasks.create_task import create_task
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import reading

GOOD, BROKEN, PAGE = "a" * 64, "b" * 64, "c" * 64
sources = itertools.count(1)


class Context(JobContext):
    """A job that is never taken over."""

    claim_no = 1
    checkpoint = None

    def __init__(self, db: Database) -> None:
        self.db = db

    @asynccontextmanager
    async def guarded_transaction(self) -> AsyncIterator[Tx]:
        async with self.db.transaction() as tx:
            yield tx

    def report(self, progress: Progress) -> None:
        pass


class Blobs(BlobStore):
    """Files by their names, which are used instead of hashes."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    async def fetch(self, sha256: str, target: Path) -> int:
        return target.write_bytes(self._files[sha256])


class Owner:
    """Replies to each request as soon as it is sent, and keeps the requests.

    `removals` and `changes` are the numbers of offers that loads would remove or change drastically; if there are any,
    an end without a decision is held. `decisions` has the first decisions by run, `forgotten` the lost runs.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self.log: list[OfferBatch | TaskEnd] = []
        self.loses_batches = False
        self.loses_ends = False
        self.repeats = False
        self.removals = 0
        self.changes = 0
        self.decisions: dict[tuple[int, int], int] = {}
        self.forgotten: set[tuple[int, int]] = set()

    async def send(self, messages: Sequence[Message]) -> None:
        for message in messages:
            if self.loses_batches and message.headers["type"].endswith(b"OfferBatch"):
                raise Unavailable("KAFKA_UNAVAILABLE", "not acknowledged")
            kind = OfferBatch if message.headers["type"].endswith(b"OfferBatch") else TaskEnd
            request = kind.FromString(message.value)
            self.log.append(request)
            names = ("seller_id", "namespace", "task_id", "run")
            address = {name: getattr(request, name) for name in names}
            reply: OfferBatchResult | TaskEndResult
            if isinstance(request, OfferBatch):
                applied = offer_results_pb2.BATCH_OUTCOME_APPLIED
                reply = OfferBatchResult(**address, batch_id=request.batch_id, outcome=applied)
                reply.counts.skipped = min(self.changes, len(request.records))
                reply.counts.added = len(request.records) - reply.counts.skipped
            else:
                reply = self.result_of(request, address)
                if self.loses_ends:
                    continue
            for _ in range(2 if self.repeats else 1):
                async with self._db.transaction() as tx:
                    await take_results(tx, JobStore(), [reply])

    def result_of(self, end: TaskEnd, address: dict[str, Any]) -> TaskEndResult:
        run = (end.task_id, end.run)
        if run in self.forgotten:
            return TaskEndResult(**address, outcome=offer_results_pb2.TASK_END_OUTCOME_INCOMPLETE)
        decision = self.decisions.get(run, HOLD_DECISION_UNSPECIFIED)
        if decision not in {HOLD_DECISION_CONFIRM, HOLD_DECISION_REJECT}:
            decision = self.decisions[run] = end.decision
        hold = LoadHold(removals=self.removals, offers=self.removals, changes=self.changes)
        if self.removals and decision in {HOLD_DECISION_UNSPECIFIED, HOLD_DECISION_ALLOW_CHANGES}:
            hold.reasons.append(HOLD_REASON_REMOVALS)
        if self.changes and decision in {HOLD_DECISION_UNSPECIFIED, HOLD_DECISION_ALLOW_REMOVALS}:
            hold.reasons.append(HOLD_REASON_PRICES)
        if hold.reasons:
            return TaskEndResult(**address, outcome=offer_results_pb2.TASK_END_OUTCOME_HELD, hold=hold)
        reply = TaskEndResult(**address, outcome=offer_results_pb2.TASK_END_OUTCOME_COMPLETED)
        if decision == HOLD_DECISION_REJECT:
            reply.kept, reply.dropped = self.removals, self.changes
        else:
            reply.removed, reply.changed = self.removals, self.changes
        return reply

    async def say(self, *replies: TaskEndResult) -> None:
        """Deliver pending replies."""
        async with self._db.transaction() as tx:
            await take_results(tx, JobStore(), replies)

    def ended(self, seller: str) -> list[int]:
        return [it.task_id for it in self.log if isinstance(it, TaskEnd) and it.seller_id == seller]


class Runner:
    """Creates and runs the tasks of one namespace."""

    def __init__(self, db: Database, owner: Owner, parts: RunParts, seller: str = "shop") -> None:
        self.db = db
        self.owner = owner
        self.parts = parts
        self.seller = seller
        self.source = next(sources)

    async def make(self, **fields: Any) -> TaskKey:
        request = CreateTaskRequest(seller_id=self.seller, namespace="default", **fields)
        return await create_task(self.db, JobStore(), request, timeout_s=60)

    async def upload(self, upload_id: str, **fields: Any) -> TaskKey:
        return await self.make(**{"upload_id": upload_id, "source_sha256": GOOD} | fields)

    async def fetch(self, version: int, result: int, **fields: Any) -> TaskKey:
        fields = {"source_sha256": GOOD} | fields
        return await self.make(
            feed_version=version, feed_loader_task_id=self.source, feed_loader_result_id=result, **fields
        )

    async def remove(self, version: int, **fields: Any) -> TaskKey:
        return await self.make(kind=task_pb2.TASK_KIND_DELETE, feed_version=version, **fields)

    async def run(self, key: TaskKey) -> Task:
        await process_feed(Context(self.db), self.parts, key)
        return await self.task(key)

    async def task(self, key: TaskKey) -> Task:
        async with self.db.transaction() as tx:
            task = await reading.find_task(tx, key)
        assert task is not None
        return task
