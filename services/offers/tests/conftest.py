"""A fake processor that cuts loads into messages, and the roles around the use cases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from classifeed.feeds.v1.load_pb2 import (
    DISPOSITION_DELETE,
    ISSUE_LEVEL_ERROR,
    LOAD_MODE_REPLACE,
    Disposition,
    LoadMode,
    OfferError,
)
from classifeed.feeds.v1.offer_requests_pb2 import (
    HOLD_DECISION_UNSPECIFIED,
    RECORD_KIND_DUPLICATE,
    RECORD_KIND_OFFER,
    RECORD_KIND_UNIDENTIFIED,
    HoldDecision,
    OfferBatch,
    OfferRecord,
    RunCheck,
    TaskEnd,
)
from classifeed.offers.v1.offer_pb2 import OfferContent, Price
from classifeed_common.db import Database, Tx
from classifeed_common.ids import process_holder
from classifeed_common.lease import Leases
from classifeed_common.publish_mark import MarkPusher
from classifeed_devkit.testing.databases import MigratedDatabase
from classifeed_domain.publishing import ReceiverClient, RegistryComparison
from classifeed_jobs import JobStore, Registry, Worker
from classifeed_offers.app.loads.apply_requests import apply_requests
from classifeed_offers.app.loads.sweep_run import Step, sweep_step
from classifeed_offers.app.publishing.publish_offers import PublishOffers
from classifeed_offers.app.publishing.republish_offers import Republisher
from classifeed_offers.app.publishing.watch_publication import PublicationWatch
from classifeed_offers.domain.admission import RunKey
from classifeed_offers.domain.completion import Guard
from classifeed_offers.domain.documents import DueOffer, schema
from classifeed_offers.domain.moderation import ApprovedBySetting, Moderation
from classifeed_offers.domain.offers import Namespace, digest_of, hash_of
from classifeed_offers.jobs.republish import QUEUE, RepublishJobs, register_republish
from classifeed_offers.store import publishing

# Messages of several kinds, in the order of their requests.
Results = list[Any]


def content_of(title: str, price: int = 100) -> OfferContent:
    return OfferContent(title=title, price=Price(amount_micros=price * 1_000_000, currency_code="RUB"), available=True)


class Records:
    """Makes records in the form of the processor's."""

    def good(self, external_id: str, title: str | None = None, price: int = 100) -> OfferRecord:
        content = content_of(title or f"offer {external_id}", price)
        return OfferRecord(
            kind=RECORD_KIND_OFFER, external_id=external_id, content=content, content_hash=hash_of(content)
        )

    def broken(self, external_id: str) -> OfferRecord:
        error = OfferError(
            error_id=f"e-{external_id}", external_id=external_id, level=ISSUE_LEVEL_ERROR, code="PRICE_INVALID"
        )
        return OfferRecord(kind=RECORD_KIND_OFFER, external_id=external_id, errors=[error])

    def kept(self, external_id: str) -> OfferRecord:
        return OfferRecord(kind=RECORD_KIND_OFFER, external_id=external_id, keep_existing=True)

    def patch(self, external_id: str, price: int) -> OfferRecord:
        content = content_of("", price)
        return OfferRecord(
            kind=RECORD_KIND_OFFER,
            external_id=external_id,
            content=content,
            content_hash=hash_of(content),
            named_fields=["price"],
        )

    def duplicate(self, ordinal: int) -> OfferRecord:
        return OfferRecord(kind=RECORD_KIND_DUPLICATE, external_id=f"record:{ordinal}", ordinal=ordinal)

    def unidentified(self, ordinal: int) -> OfferRecord:
        return OfferRecord(kind=RECORD_KIND_UNIDENTIFIED, external_id=f"record:{ordinal}", ordinal=ordinal)


@dataclass
class Load:
    """One run of one task: its messages in order, the end last."""

    records: Sequence[OfferRecord]
    task: int = 1
    run: int = 1
    seller: str = "seller"
    namespace: str = "default"
    mode: LoadMode = LOAD_MODE_REPLACE
    disposition: Disposition = DISPOSITION_DELETE
    batch_size: int = 2
    decision: HoldDecision = HOLD_DECISION_UNSPECIFIED
    batches: list[OfferBatch] = field(init=False)
    end: TaskEnd = field(init=False)

    def __post_init__(self) -> None:
        self.batches = []
        for start in range(0, len(self.records), self.batch_size):
            records = self.records[start : start + self.batch_size]
            digest = digest_of(b"".join(record.SerializeToString(deterministic=True) for record in records))
            batch_id = start // self.batch_size + 1
            self.batches.append(
                OfferBatch(**self.address, batch_id=batch_id, mode=self.mode, digest=digest, records=records)
            )
        self.end = TaskEnd(
            **self.address,
            batch_count=len(self.batches),
            digest=digest_of(b"".join(batch.digest for batch in self.batches)),
            mode=self.mode,
            disposition=self.disposition,
            decision=self.decision,
        )

    @property
    def address(self) -> dict[str, Any]:
        return {"seller_id": self.seller, "namespace": self.namespace, "task_id": self.task, "run": self.run}

    def decided(self, decision: HoldDecision) -> TaskEnd:
        """Return a repeated end of the run, with a decision."""
        end = TaskEnd.FromString(self.end.SerializeToString())
        end.decision = decision
        return end

    @property
    def messages(self) -> list[OfferBatch | TaskEnd]:
        return [*self.batches, self.end]


class Owner:
    """Takes requests and steps sweeps, each in a separate transaction, like the consumer and the job."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.guard = Guard()
        self.moderation: Moderation = ApprovedBySetting()
        self.requests_pictures = False
        self.sweeps: list[RunKey] = []

    async def start(self, tx: object, run: RunKey) -> None:
        if run not in self.sweeps:
            self.sweeps.append(run)

    async def take(self, requests: Iterable[OfferBatch | TaskEnd | RunCheck]) -> Results:
        async with self.database.transaction() as tx:
            return await apply_requests(
                tx,
                list(requests),
                moderation=self.moderation,
                sweeps=self,
                guard=self.guard,
                requests_pictures=self.requests_pictures,
            )

    async def step(self, run: RunKey, *, slice_offers: int = 1000) -> Step:
        async with self.database.transaction() as tx:
            step = await sweep_step(tx, run, guard=self.guard, slice_offers=slice_offers)
        if not step.more:
            self.sweeps.remove(run)
        return step

    async def sweep(self) -> Results:
        """Run all sweeps to their ends and return the results."""
        results: Results = []
        while self.sweeps:
            step = await self.step(self.sweeps[0])
            if step.result is not None:
                results.append(step.result)
        return results

    async def load(self, load: Load) -> Results:
        """Take a whole run in one poll and sweep."""
        return [*await self.take(load.messages), *await self.sweep()]

    async def rows(self, load: Load | None = None) -> dict[str, tuple[Any, ...]]:
        """Return external_id → (status, origin, title, price, last_task_id, last_change, version) of a namespace."""
        namespace = Namespace(load.seller, load.namespace) if load else Namespace("seller", "default")
        async with self.database.connection() as connection:
            cursor = await connection.execute(
                "SELECT external_id, status, origin, content, last_task_id, last_change, version FROM offers"
                " WHERE seller_id = %s AND namespace = %s",
                namespace,
            )
            rows = {}
            for external_id, status, origin, content, *rest in await cursor.fetchall():
                said = OfferContent.FromString(content)
                rows[external_id] = (status, origin, said.title, said.price.amount_micros // 1_000_000, *rest)
            return rows

    async def alive(self, load: Load | None = None) -> set[str]:
        return {external_id for external_id, row in (await self.rows(load)).items() if row[0] != "REMOVED"}


class Publishing:
    """Publishes offers to a receiver as the service does, with the worker that resets marks."""

    def __init__(self, database: Database, receiver: ReceiverClient, *, slice_offers: int = 100) -> None:
        self.database = database
        self._registry = Registry()
        register_republish(self._registry, slice_offers=slice_offers)
        self.jobs = JobStore(tasks=self._registry)
        self.republisher = Republisher(database, RepublishJobs(self.jobs), self._restart)
        self.publish_offers = PublishOffers(database, receiver, self.republisher)
        self.watch = PublicationWatch(database)
        self.pusher = MarkPusher(
            database,
            name="offers",
            select_due=publishing.SELECT_DUE,
            advance=publishing.ADVANCE,
            row_type=DueOffer,
            push=self.publish_offers,
            record=self.publish_offers.record,
            on_idle=self.publish_offers.check,
            idle_every_s=0.05,
            max_idle_s=0.05,
            max_backoff_s=0.1,
            leases=Leases(database, process_holder("test"), 2),
        )

        self.may_withdraw = True
        self.comparison = RegistryComparison(
            database,
            receiver,
            self.publish_offers.publisher,
            Leases(database, process_holder("test"), 2),
            schema=schema(),
            find_unequal=publishing.find_unequal,
            publish_again=publishing.publish_again,
            may_withdraw=self._may_withdraw,
            on_due=self.pusher.wake,
            page_documents=7,
            round_s=0.1,
        )

    async def _may_withdraw(self) -> bool:
        return self.may_withdraw

    async def _restart(self, tx: Tx) -> None:
        await self.pusher.restart(tx)

    def new_worker(self) -> Worker:
        return Worker(self.database, self.jobs, self._registry, queues={QUEUE: 1})

    @asynccontextmanager
    async def running(self, *, worker: bool = True, comparison: bool = False) -> AsyncIterator[None]:
        stop = asyncio.Event()
        tasks = [asyncio.create_task(self.pusher.run(stop))]
        if comparison:
            tasks.append(asyncio.create_task(self.comparison.run(stop)))
        if worker:
            tasks.append(asyncio.create_task(self.new_worker().run(stop)))
        try:
            yield
        finally:
            stop.set()
            await asyncio.gather(*tasks)

    async def until(self, condition: Callable[[], Awaitable[bool]], limit_s: float = 120) -> None:
        async with asyncio.timeout(limit_s):
            while not await condition():
                await asyncio.sleep(0.02)

    async def settle(self) -> None:
        """Publish until everything is published."""
        async with self.running():
            await self.until(self.is_settled)

    async def is_settled(self) -> bool:
        """Whether everything is published and no republication is under way."""
        await self.watch.poll()
        return not self.watch.blocked() and await self.pusher.backlog() == 0

    async def fetch(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        async with self.database.connection() as connection:
            return await (await connection.execute(sql, parameters)).fetchall()


NewPublishing = Callable[..., Publishing]


@pytest.fixture
def new_publishing(database: Database) -> NewPublishing:
    def make(receiver: ReceiverClient, **options: int) -> Publishing:
        return Publishing(database, receiver, **options)

    return make


@pytest.fixture
async def database(migrated_database: MigratedDatabase) -> Database:
    return await migrated_database("classifeed_offers", "offers")


@pytest.fixture
def owner(database: Database) -> Owner:
    return Owner(database)


@pytest.fixture(scope="session")
def records() -> Records:
    return Records()


@pytest.fixture(scope="session")
def new_load() -> type[Load]:
    return Load


@pytest.fixture(scope="session")
def new_owner() -> type[Owner]:
    return Owner
