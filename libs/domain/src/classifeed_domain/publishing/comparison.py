"""RegistryComparison: finds and repairs documents that a restored table has lost or has in an older state."""

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
from classifeed_common.lease import Lease, LeasedLoop, Leases
from classifeed_common.loops import Loop, Looping
from classifeed_common.pacing.backoff import Backoff
from classifeed_common.pacing.duty_cycle import DutyCycle
from classifeed_common.pacing.waiting import wait_for_event
from classifeed_common.telemetry.metrics import REPAIRED_DOCUMENTS
from classifeed_domain.publishing.publisher import DocumentPublisher

_PAGE_DOCUMENTS: Final = 1000
_ROUND_S: Final = 30.0
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
    """Differences between a page of the registry and a table.

    Attributes:
        lost: Live documents whose rows are missing from the table.
        unequal: Rows marked as published whose document has another version, or is shown and should not be.
    """

    lost: list[StoredDocument] = field(default_factory=list)
    unequal: list[Unequal] = field(default_factory=list)


class ListedDocuments(Protocol):
    """Lists the registry's documents of one client."""

    async def list_documents(self, page_token: str, page_size: int) -> tuple[list[StoredDocument], str]:
        """Return a page and the token of the next page. The token is "" for the first page and after the last one."""
        ...


FindUnequal: TypeAlias = Callable[[Tx, Sequence[StoredDocument]], Awaitable[Differences]]
PublishAgain: TypeAlias = Callable[[Tx, Sequence[Unequal]], Awaitable[int]]


async def _always() -> bool:
    return True


class RegistryComparison(Looping):
    """Compares the registry with the source table of its documents, in rounds. One process at a time does so.

    The registry is read before the table. Each acknowledged document was a committed row at that time. If a row is
    missing or older than its document, the table was restored from a backup. A lost document is withdrawn with the
    version after the stored one. A row that is created meanwhile has a higher version, as versions are never below the
    clock.

    The first round, and each round after a fault such as a restart of the database, has no pauses.

    Args:
        database: Database with the table.
        documents: Client of the receiver.
        publisher: Publisher that pushes withdrawals.
        leases: Leases in the same database.
        schema: Schema of the documents. Documents of a later epoch belong to a newer release and are skipped.
        find_unequal: Function that compares a page with the table; it only reads.
        publish_again: Function that makes rows due again, with a version above the stored one.
        may_withdraw: Whether lost rows cannot be created again from input that is still unread.
        on_due: Callback after rows became due.
        page_documents: Documents in a page.
        round_s: Minimum seconds between the starts of two rounds.
    """

    loop: LeasedLoop

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
        loop = Loop(
            self._compare,
            period_s=round_s,
            name="comparison with the registry",
            doing="comparing the registry with its source",
            effect="Documents that a restored table has lost stay in the search",
            backoff=Backoff(_FIRST_BACKOFF_S, _LONGEST_BACKOFF_S),
            event="documents.comparison.failed",
        )
        self._is_hurried = True
        self.loop = LeasedLoop(leases, name, loop, on_gain=self._begin)

    async def _compare(self) -> float:
        """Compare all pages once; return the seconds until the next round is due."""
        is_hurried, self._is_hurried = self._is_hurried, True
        clock = asyncio.get_running_loop()
        began_s = clock.time()
        token = ""
        stopping, duty_cycle = self.loop.stopping, DutyCycle()
        while not stopping.is_set():
            with duty_cycle.timed():
                try:
                    listed, token = await self._documents.list_documents(token, self._page_documents)
                except Unimplemented:
                    token = ""  # a receiver of an earlier release
                else:
                    await self._compare_page(self.loop.lease, listed)
            self.loop.loop.fault.clear()
            if not token:
                break
            if not is_hurried:
                await wait_for_event(stopping, duty_cycle.due_in_s)
        self._is_hurried = False
        return max(0.0, began_s + self._round_s - clock.time())

    def _begin(self, _lease: Lease) -> None:
        self._is_hurried = True

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
        # Deterministic, so that a repeated push of a withdrawal is acknowledged.
        return RawDocument(
            pk=stored.pk,
            version=stored.version + 1,
            epoch=self._epoch,
            timestamp=stored.timestamp,
            action=DOCUMENT_ACTION_DELETE,
        )
