"""RegistryComparison: finds documents that a restored table has lost or has in an older state, and mends them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import structlog

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_DELETE, RawDocument
from classifeed.documents.v1.receiver_service_pb2 import PUSH_OUTCOME_ACK, StoredDocument
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_common.db import Database, Tx
from classifeed_common.errors import Unimplemented
from classifeed_common.lease import Lease, LeasedWork, LeaseLost, Leases
from classifeed_common.pacing.waiting import wait_for_event
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.telemetry.metrics import REPAIRED_DOCUMENTS
from classifeed_domain.publishing.publisher import DocumentPublisher

_PAGE_DOCUMENTS: Final = 1000
_ROUND_S: Final = 30.0
# A page pauses for so many times its duration, so that a comparison takes at most 5 % of the time.
_PAUSES: Final = 20
_FIRST_BACKOFF_S: Final = 1.0
_LONGEST_BACKOFF_S: Final = 10.0
_log = structlog.get_logger(__name__)


class Unequal(NamedTuple):
    """A row whose document in the registry is in another state."""

    row_id: Any
    version: int
    stored_version: int


@dataclass(frozen=True, slots=True)
class Differences:
    """What a page of the registry and a table do not agree on.

    Attributes:
        lost: live documents of rows that the table does not have.
        unequal: rows that count as published, and whose document has another version, or is shown and should not be.
    """

    lost: list[StoredDocument] = field(default_factory=list)
    unequal: list[Unequal] = field(default_factory=list)


class ListedDocuments(Protocol):
    """Lists the registry's documents of one client."""

    async def list_documents(self, page_token: str, page_size: int) -> tuple[list[StoredDocument], str]:
        """Return a page and the token of the next one; "" for the first and after the last."""
        ...


FindUnequal: TypeAlias = Callable[[Tx, Sequence[StoredDocument]], Awaitable[Differences]]
PublishAgain: TypeAlias = Callable[[Tx, Sequence[Unequal]], Awaitable[int]]


async def _always() -> bool:
    return True


class RegistryComparison:
    """Compares the registry with the table that its documents come from, in rounds, one process at a time.

    The registry is read first and the table afterwards. Each acknowledged document was a committed row before, so a
    row that is missing or older than its document was lost: the table was restored from a backup. A lost document is
    withdrawn with the version after the stored one. That is below the version of a row that is created meanwhile, as
    versions are not below the clock.

    The first round, and each round after a fault such as a restart of the database, has no pauses.

    Args:
        database: with the table.
        documents: the receiver.
        publisher: pushes withdrawals.
        leases: in the same database.
        schema: of the documents; documents of a later epoch belong to a newer release and are left alone.
        find_unequal: compares a page with the table; reads only.
        publish_again: makes rows due again, with a version above the stored one.
        may_withdraw: whether lost rows will not be created again from what is still to be read.
        on_due: called after rows became due.
        page_documents: documents of a page.
        round_s: shortest time between the beginnings of two rounds, in seconds.
    """

    def __init__(
        self,
        database: Database,
        documents: ListedDocuments,
        publisher: DocumentPublisher,
        leases: Leases,
        *,
        schema: Schema,
        find_unequal: FindUnequal,
        publish_again: PublishAgain,
        may_withdraw: Callable[[], Awaitable[bool]] = _always,
        on_due: Callable[[], None] = lambda: None,
        page_documents: int = _PAGE_DOCUMENTS,
        round_s: float = _ROUND_S,
    ) -> None:
        self._database = database
        self._documents = documents
        self._publisher = publisher
        self._leases = leases
        self._client = schema.client
        self._epoch = schema.epoch
        self._find_unequal = find_unequal
        self._publish_again = publish_again
        self._may_withdraw = may_withdraw
        self._on_due = on_due
        self._page_documents = page_documents
        self._round_s = round_s
        name = f"registry_comparison/{self._client}"
        self._work = LeasedWork(leases, name, self._compare_until, on_stop=lambda: None)

    async def run(self, stop: asyncio.Event) -> None:
        """Compare until `stop`, whenever this process has the lease."""
        await self._work.run(stop)

    def blocked(self) -> dict[str, str]:
        """Return why this process, which has the lease, cannot compare; for `Role.blocked`."""
        effect = "Documents that a restored table has lost stay in the search"
        return self._work.fault.blocked(
            "comparison with the registry", "comparing the registry with its source", effect
        )

    async def _compare_until(self, lease: Lease, stopping: asyncio.Event) -> None:
        backoff_s = _FIRST_BACKOFF_S
        is_hurried = True
        while not stopping.is_set():
            try:
                await self._compare(lease, stopping, is_hurried=is_hurried)
            except LeaseLost:
                await wait_for_event(stopping, _FIRST_BACKOFF_S)  # the keeper ends this, or has renewed the lease
                is_hurried = True
                continue
            except Exception as error:  # noqa: BLE001 - nobody else would compare
                log_fault(_log, "documents.comparison.failed", error, retry_in_s=backoff_s, noted_in=self._work.fault)
                await wait_for_event(stopping, backoff_s)
                backoff_s, is_hurried = min(backoff_s * 2, _LONGEST_BACKOFF_S), True
                continue
            self._work.fault.clear()
            backoff_s, is_hurried = _FIRST_BACKOFF_S, False

    async def _compare(self, lease: Lease, stopping: asyncio.Event, *, is_hurried: bool) -> None:
        """Compare all pages once, then wait for the time of the next round."""
        clock = asyncio.get_running_loop()
        began_s = clock.time()
        token = ""
        while not stopping.is_set():
            page_began_s = clock.time()
            try:
                listed, token = await self._documents.list_documents(token, self._page_documents)
            except Unimplemented:
                token = ""  # a receiver of an earlier release
            else:
                await self._compare_page(lease, listed)
            self._work.fault.clear()
            if not token:
                break
            if not is_hurried:
                await wait_for_event(stopping, (clock.time() - page_began_s) * _PAUSES)
        await wait_for_event(stopping, began_s + self._round_s - clock.time())

    async def _compare_page(self, lease: Lease, listed: Sequence[StoredDocument]) -> None:
        own = [each for each in listed if each.epoch <= self._epoch]
        async with self._database.transaction() as tx:
            await self._leases.guard(tx, lease)
            found = await self._find_unequal(tx, own)
        if found.unequal:
            async with self._database.transaction() as tx:
                await self._leases.guard(tx, lease)
                rows = await self._publish_again(tx, found.unequal)
            self._on_due()
            REPAIRED_DOCUMENTS.labels(self._client, "published").inc(rows)
            _log.warning("documents.published.again", client=self._client, rows=rows, example=str(found.unequal[0]))
        if found.lost and await self._may_withdraw():
            await self._withdraw(found.lost)

    async def _withdraw(self, lost: Sequence[StoredDocument]) -> None:
        pushed = await self._publisher.push([self._withdrawal_of(each) for each in lost])
        async with self._database.transaction() as tx:
            await self._publisher.record(tx, pushed.positions)
        withdrawn = sum(result.outcome == PUSH_OUTCOME_ACK for result in pushed.results)
        REPAIRED_DOCUMENTS.labels(self._client, "withdrawn").inc(withdrawn)
        _log.warning("documents.withdrawn", client=self._client, documents=withdrawn, example=lost[0].pk)

    def _withdrawal_of(self, stored: StoredDocument) -> RawDocument:
        # Equal each time: a repeated push of the same withdrawal is acknowledged.
        return RawDocument(
            pk=stored.pk,
            version=stored.version + 1,
            epoch=self._epoch,
            timestamp=stored.timestamp,
            action=DOCUMENT_ACTION_DELETE,
        )
