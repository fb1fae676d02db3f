"""What the receiver is made of: its database, what it remembers, and its use cases, joined in one place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from classifeed_common.clock import SystemClock
from classifeed_common.db import Database
from classifeed_common.runner import Watch
from classifeed_common.runner.parts import database_of
from classifeed_receiver.app.pushing.push_documents import PushDocuments
from classifeed_receiver.app.reading.read_elements import ReadElements
from classifeed_receiver.app.upkeep.expire_documents import DocumentExpirer
from classifeed_receiver.app.upkeep.list_abandoned import list_abandoned
from classifeed_receiver.app.upkeep.list_damaged import list_damaged
from classifeed_receiver.app.upkeep.trim_queues import QueueTrimmer
from classifeed_receiver.settings import ReceiverSettings
from classifeed_receiver.store.commit_signal import CommitSignal
from classifeed_receiver.store.known_epochs import KnownEpochs

# The count reads the whole registry.
_ABANDONED_INTERVAL_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What the roles and servicers of the receiver share.

    Attributes:
        database: database of the registry, its schemas and its queues.
        signal: wakes readers of queues after commits of this process.
        epochs: epochs and schemas that this process knows.
        push_documents: use case that writes documents.
        read_elements: use case that reads the queues.
        trimmer: loop that trims the queues.
        expirer: loop that deletes expired documents.
        abandoned: watch for documents of abandoned epochs.
        damaged: watch for damaged rows.
    """

    database: Database
    signal: CommitSignal
    epochs: KnownEpochs
    push_documents: PushDocuments
    read_elements: ReadElements
    trimmer: QueueTrimmer
    expirer: DocumentExpirer
    abandoned: Watch
    damaged: Watch

    async def open(self) -> None:
        """Connect to the database."""
        await self.database.open()

    async def close(self) -> None:
        """Write the documents that were pushed, then disconnect."""
        await self.push_documents.stop()
        await self.database.close()


def build_parts(settings: ReceiverSettings) -> Parts:
    """Return the parts; nothing is opened yet."""
    database, clock, signal = database_of(settings), SystemClock(), CommitSignal()
    epochs = KnownEpochs(database, clock)
    return Parts(
        database=database,
        signal=signal,
        epochs=epochs,
        push_documents=PushDocuments(
            database,
            epochs,
            signal,
            limit_bytes=settings.document_limit_bytes,
            transactions=settings.write_transactions,
        ),
        read_elements=ReadElements(database, signal, clock),
        trimmer=QueueTrimmer(database, group_lifetime_s=settings.group_lifetime_s, failed_age_s=settings.failed_age_s),
        expirer=DocumentExpirer(database, tombstone_age_s=settings.tombstone_age_s),
        abandoned=Watch(
            partial(list_abandoned, database),
            what="documents in abandoned epochs",
            period_s=_ABANDONED_INTERVAL_S,
        ),
        damaged=Watch(partial(list_damaged, database), what="damaged rows of the registry"),
    )
