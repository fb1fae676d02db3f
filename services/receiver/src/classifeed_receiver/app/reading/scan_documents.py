"""Scan the live documents of a shard, page by page, to build an index from the registry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import structlog

from classifeed_common.db import Database
from classifeed_common.errors import FailedPrecondition
from classifeed_receiver.domain.positions import RegistryPosition
from classifeed_receiver.store import scanning
from classifeed_receiver.store.compression import CorruptContent
from classifeed_receiver.store.kept_documents import KeptDocument, mark_damaged, read_content
from classifeed_receiver.store.known_epochs import KnownEpochs

_log = structlog.get_logger(__name__)

_PAGE_DOCUMENTS: Final = 5000


@dataclass(slots=True)
class Page:
    """A page of serialized RawDocuments.

    Attributes:
        documents: serialized RawDocuments in the order of their keys.
        next: position to continue from; None: the page has no row.
        unreadable: number of damaged rows that were left out.
    """

    documents: list[bytes] = field(default_factory=list)
    next: RegistryPosition | None = None
    unreadable: int = 0


class ScanDocuments:
    """Reads pages, each from a separate snapshot."""

    def __init__(self, database: Database, epochs: KnownEpochs) -> None:
        self._database = database
        self._epochs = epochs

    async def __call__(
        self, client: str, shard: int, epoch: int, after: RegistryPosition | None, *, limit_bytes: int
    ) -> Page:
        """Return the page after a position; None: the first one.

        Raises:
            FailedPrecondition: the client has no schema, or another epoch is active (EPOCH_NOT_ACTIVE).
        """
        check_active(client, epoch, (await self._epochs.get(client)).active)
        async with self._database.connection() as connection:
            rows = await scanning.scan_documents(
                connection,
                client,
                shard,
                epoch,
                after or RegistryPosition.begin_of(shard),
                limit=_PAGE_DOCUMENTS,
                size_bytes=limit_bytes,
            )
        page = Page()
        damaged: list[tuple[str, KeptDocument]] = []
        size_bytes = 0
        for row in rows:
            if size_bytes > limit_bytes:
                break
            page.next = row.position
            try:
                content = read_content(row.position.pk, row.document)
            except CorruptContent as error:
                _log.error("receiver.document.unreadable", client=client, pk=row.position.pk, error=str(error))
                damaged.append((row.position.pk, row.document))
                continue
            size_bytes += len(content)
            page.documents.append(content)
        if damaged:
            page.unreadable = len(damaged)
            async with self._database.connection() as connection:
                await mark_damaged(connection, client, damaged)
        return page


def check_active(client: str, epoch: int, active: int) -> None:
    """Check that an epoch is the active one.

    Raises:
        FailedPrecondition: EPOCH_NOT_ACTIVE.
    """
    if epoch != active:
        raise FailedPrecondition(
            "EPOCH_NOT_ACTIVE",
            f"Epoch {active} of {client} is active, not {epoch}. Request the active one.",
            metadata={"client": client, "active_epoch": str(active)},
        )
