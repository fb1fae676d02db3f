"""Takes index documents from Kafka into the index."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog
from google.protobuf.message import DecodeError

from classifeed.documents.v1 import index_document_pb2, schema_pb2
from classifeed_common.kafka import Poison, Record
from classifeed_searcher.engine.fields import WrongValue
from classifeed_searcher.store.catalogue import IndexCatalogue, IndexWrite

log = structlog.get_logger(__name__)


class IndexSink:
    """Handler of OrderedConsumer: one call is one commit, so its size is what bounds the rate of commits."""

    def __init__(
        self, catalogue: IndexCatalogue, schema_of: Callable[[str, int], Awaitable[schema_pb2.Schema]]
    ) -> None:
        self._catalogue = catalogue
        self._schema_of = schema_of

    async def __call__(self, write: IndexWrite, records: Sequence[Record]) -> None:
        """Applies the records in order.

        Raises:
            Poison: a record is no index document, or does not fit its schema.
        """
        documents = [self._decode(record) for record in records]
        for epoch in {document.epoch for document in documents}:
            if not self._catalogue.knows(epoch):
                self._catalogue.add(await self._schema_of(self._catalogue.client, epoch))
        await asyncio.to_thread(self._apply, write, records, documents)
        if write.dropped:
            log.info("searcher.dropped", client=self._catalogue.client, documents=write.dropped)

    def _decode(self, record: Record) -> index_document_pb2.IndexDocument:
        try:
            document = index_document_pb2.IndexDocument.FromString(record.value)
        except DecodeError as error:
            raise Poison(record, f"not an IndexDocument: {error}") from error
        if document.client != self._catalogue.client or document.epoch <= 0 or not document.pk:
            raise Poison(record, f"names client {document.client!r}, epoch {document.epoch}, pk {document.pk!r}")
        return document

    def _apply(
        self,
        write: IndexWrite,
        records: Sequence[Record],
        documents: Sequence[index_document_pb2.IndexDocument],
    ) -> None:
        for record, document in zip(records, documents, strict=True):
            try:
                self._catalogue.apply(write, document)
            except WrongValue as error:
                raise Poison(record, f"document {document.pk!r}: {error}") from error
