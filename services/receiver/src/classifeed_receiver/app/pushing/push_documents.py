"""Push documents: check each against the schema of its epoch, write the fresher ones, return the outcome of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import structlog

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed_common.db import Database
from classifeed_common.pacing.yielding import map_yielding
from classifeed_receiver.app.pushing.check_positions import check_positions
from classifeed_receiver.app.pushing.coalesce_writes import WriteCoalescer
from classifeed_receiver.domain.documents import (
    Acknowledged,
    EpochTooOld,
    Invalid,
    NewDocument,
    Outcome,
    ShardPosition,
    Stale,
    StoredDocument,
    judge,
    select_candidates,
)
from classifeed_receiver.domain.validation import check_document
from classifeed_receiver.store import registry
from classifeed_receiver.store.commit_signal import CommitSignal
from classifeed_receiver.store.known_epochs import KnownEpochs

_log = structlog.get_logger(__name__)
_NO_TRACES: Final[Mapping[int, str]] = {}
_COMPRESS_FROM_BYTES: Final = 2048


class PushDocuments:
    """Takes the pushed documents of all clients, and combines concurrent pushes into transactions.

    Args:
        database: database of the registry.
        epochs: epochs and schemas that this process knows.
        signal: notified after commits.
        limit_bytes: size of the largest accepted document.
        transactions: maximum number of concurrent transactions.
        compress_from_bytes: size from which on documents are kept compressed.
    """

    def __init__(
        self,
        database: Database,
        epochs: KnownEpochs,
        signal: CommitSignal,
        *,
        limit_bytes: int,
        transactions: int,
        compress_from_bytes: int = _COMPRESS_FROM_BYTES,
    ) -> None:
        self._database = database
        self._epochs = epochs
        self._signal = signal
        self._limit_bytes = limit_bytes
        self._compress_from_bytes = compress_from_bytes
        self._coalescer = WriteCoalescer(self._write, transactions=transactions)

    async def __call__(
        self,
        client: str,
        documents: Sequence[RawDocument],
        known: Collection[ShardPosition] = (),
        traces: Mapping[int, str] = _NO_TRACES,
    ) -> list[Outcome]:
        """Return the outcome of each document, in their order. Idempotent.

        Of several documents with one key, in any order, the freshest is written and the others are stale.

        Args:
            client: client of the documents.
            documents: documents as received.
            known: positions acknowledged to the client before.
            traces: `traceparent` of documents whose trace is propagated, by index of the document.

        Raises:
            FailedPrecondition: the client has no schema, or the database lacks one of the known positions
                (REGISTRY_WENT_BACK). Nothing is written then.
        """
        checked = await self._check(client, documents)
        for index, traceparent in traces.items():
            if index < len(checked) and isinstance(document := checked[index], NewDocument):
                checked[index] = document._replace(traceparent=traceparent)
        valid = [document for document in checked if isinstance(document, NewDocument)]
        if known and not valid:
            # The documents may be invalid only because the restore also took back the schema.
            async with self._database.connection() as connection:
                await check_positions(connection, client, known)
        written = iter(await self._coalescer.write(client, valid, known) if valid else ())
        return [next(written) if isinstance(document, NewDocument) else document for document in checked]

    async def stop(self) -> None:
        """Return after all pushed documents are written."""
        await self._coalescer.stop()

    async def _check(self, client: str, documents: Sequence[RawDocument]) -> list[NewDocument | Invalid | EpochTooOld]:
        epochs = await self._epochs.get(client)
        checked = await map_yielding(
            lambda document: check_document(document, epochs, limit_bytes=self._limit_bytes), documents
        )
        if not any(isinstance(document, Invalid) for document in checked):
            return checked
        # Since we read the schemas, another replica may have put a new epoch or field.
        newer = await self._epochs.get_newer(client, epochs)
        if newer is None:
            return checked
        return [
            check_document(document, newer, limit_bytes=self._limit_bytes) if isinstance(verdict, Invalid) else verdict
            for document, verdict in zip(documents, checked, strict=True)
        ]

    async def _write(
        self, client: str, documents: Sequence[NewDocument], known: Collection[ShardPosition]
    ) -> list[Outcome]:
        candidates = select_candidates(documents)
        epochs = await self._epochs.get(client)
        async with self._database.connection() as connection:
            await check_positions(connection, client, known)
            positions = await registry.write_documents(
                connection,
                client,
                candidates,
                compress_from_bytes=self._compress_from_bytes,
                abandoned_epochs=epochs.abandoned,
            )
            if positions:
                self._signal.notify(client)
            written = {candidate.pk: candidate for candidate in candidates if candidate.pk in positions}
            stored: dict[str, NewDocument | StoredDocument] = dict(written)
            if len(written) < len(candidates):
                others = [candidate for candidate in candidates if candidate.pk not in positions]
                stored |= await registry.list_stored(connection, client, others)
        outcomes: list[Outcome] = []
        for document in documents:
            if written.get(document.pk) is document:
                outcomes.append(Acknowledged(positions[document.pk]))
            else:
                outcome = judge(document, stored.get(document.pk))
                _log_repetition(client, document.pk, outcome)
                outcomes.append(outcome)
        return outcomes


def _log_repetition(client: str, pk: str, outcome: Outcome) -> None:
    if isinstance(outcome, Stale):
        _log.debug("receiver.document.stale", client=client, pk=pk, version=outcome.version, epoch=outcome.epoch)
    elif isinstance(outcome, Acknowledged):
        _log.debug("receiver.document.repeated", client=client, pk=pk)
