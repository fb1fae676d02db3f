"""A receiver of points with one shard, and the publication as the service runs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_UPSERT, RawDocument
from classifeed.documents.v1.receiver_service_pb2 import (
    PUSH_OUTCOME_ACK,
    PUSH_OUTCOME_STALE,
    PushResult,
    StoredDocument,
)
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_common.errors import FailedPrecondition
from classifeed_common.ids import process_holder
from classifeed_common.lease import Leases
from classifeed_domain.publishing import PushedDocuments
from classifeed_jobs import JobStore, Registry, Worker
from classifeed_moderation.app.points.maintain_publication import PointPublication
from classifeed_moderation.jobs.republish import QUEUE, enqueue_republish, register_republish

from ...conftest import Moderation


def freshness_of(document: RawDocument) -> tuple[int, int]:
    return document.version, document.timestamp.ToNanoseconds()


@dataclass
class FakeReceiver:
    """Receiver with one shard: keeps the newest version of each document, as the real one does."""

    documents: dict[str, RawDocument] = field(default_factory=dict)
    schemas: list[Schema] = field(default_factory=list)
    end: int = 0

    async def put_schema(self, schema: Schema) -> None:
        self.schemas.append(schema)

    async def check_positions(self, known: Mapping[int, int]) -> dict[int, int]:
        if known.get(0, 0) > self.end:
            raise FailedPrecondition("REGISTRY_WENT_BACK", "gone", metadata={"shard": "0", "idx": str(known[0])})
        return {0: self.end}

    async def push(
        self, documents: Sequence[RawDocument], known: Mapping[int, int], traces: Mapping[int, str]
    ) -> PushedDocuments:
        await self.check_positions(known)
        results = []
        for document in documents:
            stored = self.documents.get(document.pk)
            if stored is not None and freshness_of(stored) >= freshness_of(document):
                results.append(
                    PushResult(outcome=PUSH_OUTCOME_STALE, stored_epoch=stored.epoch, stored_version=stored.version)
                )
            else:
                self.documents[document.pk] = document
                self.end += 1
                results.append(PushResult(outcome=PUSH_OUTCOME_ACK))
        return PushedDocuments(results, {0: self.end})

    async def list_documents(self, page_token: str, page_size: int) -> tuple[list[StoredDocument], str]:
        listed = [
            StoredDocument(
                pk=pk,
                epoch=each.epoch,
                version=each.version,
                timestamp=each.timestamp,
                removed=each.action != DOCUMENT_ACTION_UPSERT,
            )
            for pk, each in sorted(self.documents.items())
            if pk > page_token
        ]
        page = listed[:page_size]
        return page, page[-1].pk if len(listed) > page_size else ""

    def shown(self) -> dict[str, RawDocument]:
        """Return the documents that the search shows."""
        return {pk: each for pk, each in self.documents.items() if each.action == DOCUMENT_ACTION_UPSERT}


@pytest.fixture
def receiver() -> FakeReceiver:
    return FakeReceiver()


@asynccontextmanager
async def published(moderation: Moderation, receiver: FakeReceiver) -> AsyncIterator[PointPublication]:
    """Run the publication and its job."""
    tasks = Registry()
    register_republish(tasks)
    store = JobStore(tasks=tasks)
    leases = Leases(moderation.database, process_holder("moderation"), 5)
    publication = PointPublication(
        moderation.database, receiver, leases, begin=partial(enqueue_republish, store), round_s=0.2
    )
    stop = asyncio.Event()
    worker = Worker(moderation.database, store, tasks, queues={QUEUE: 1}, claim_backoff_s=0.2)
    running = [asyncio.create_task(publication.run(stop)), asyncio.create_task(worker.run(stop))]
    try:
        yield publication
    finally:
        stop.set()
        await asyncio.gather(*running)
