"""Applies index documents from Kafka to the index."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog
from google.protobuf.message import DecodeError

from classifeed.documents.v1 import index_document_pb2
from classifeed_common.kafka import Poison, Record, decode_all
from classifeed_searcher.store.generation import IndexGeneration, IndexWrite

_log = structlog.get_logger(__name__)


class IndexSink:
    """Handler of OrderedConsumer: each call is one commit of the index, so larger calls mean fewer commits."""

    def __init__(self, generation: IndexGeneration) -> None:
        self._generation = generation
        self._client = generation.schema.client

    async def __call__(self, write: IndexWrite, records: Sequence[Record]) -> None:
        """Apply the records in order.

        Raises:
            Poison: a record is no index document, or does not fit its schema.
        """
        await asyncio.to_thread(self._apply, write, records)
        if set(write.dropped) - {"repeated"}:  # a sender without the lease, or documents of another epoch
            _log.warning("searcher.dropped", client=self._client, documents=write.dropped)

    async def refuse(self, write: IndexWrite, record: Record, reason: str) -> None:
        """Record a document that went to the dead letters: the index has an older version of it, or none."""
        try:
            document = self._decode(record)
        except Poison:
            return
        self._generation.refuse_element(write, document)
        _log.warning("searcher.refused", client=self._client, pk=document.pk, version=document.version, why=reason)

    def _decode(self, record: Record) -> index_document_pb2.IndexDocument:
        try:
            document = index_document_pb2.IndexDocument.FromString(record.value)
        except DecodeError as error:
            raise Poison(record, f"not an IndexDocument: {error}") from error
        # A document with a body has no client, so that releases without support for bodies refuse it.
        client = "" if document.body else self._client
        if document.client != client or document.epoch <= 0 or not document.pk:
            raise Poison(record, f"names client {document.client!r}, epoch {document.epoch}, pk {document.pk!r}")
        return document

    def _apply(self, write: IndexWrite, records: Sequence[Record]) -> None:
        documents = decode_all(records, self._decode)
        refused = self._generation.apply(write, documents)
        if refused:
            first, *others = [(records[at], f"document {documents[at].pk!r}: {why}") for at, why in refused.items()]
            raise Poison(*first, others)
