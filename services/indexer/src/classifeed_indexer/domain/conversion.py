"""Conversion of a client's raw document to an index document."""

from __future__ import annotations

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_UPSERT, Field, RawDocument
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.schema_pb2 import FieldType, Schema
from classifeed_domain.document_bodies import BodyCodec
from classifeed_domain.document_values import VALUE_KINDS


class Unconvertible(Exception):
    """The document does not fit its schema, so a retry cannot help; the text is the reason."""


class Converter:
    """Converts the documents of one epoch."""

    def __init__(self, schema: Schema) -> None:
        self._client = schema.client
        self._epoch = schema.epoch
        self._fields = {field.name: (rank, field) for rank, field in enumerate(schema.fields)}
        self._codec = BodyCodec(schema)
        self._dimensions = {embedding.name: embedding.dimension for embedding in schema.embeddings}

    def convert(self, document: RawDocument) -> IndexDocument:
        """Return the index document, with its fields in the schema's order.

        The receiver has checked the document. It is checked again, because a wrongly typed value kills a writer of the
        index, and a row may have been damaged since then or written by an older release.

        Raises:
            Unconvertible: a field or an embedding does not fit the schema.
        """
        converted = IndexDocument(
            client="" if document.body else self._client,
            epoch=self._epoch,
            pk=document.pk,
            version=document.version,
            timestamp=document.timestamp,
            action=document.action,
        )
        if document.action == DOCUMENT_ACTION_UPSERT:
            if document.body:
                converted.body = self._checked(document.body)
            ranks = sorted((self._rank_of(field), number) for number, field in enumerate(document.fields))
            converted.fields.extend(document.fields[number] for _, number in ranks)
            for embedding in document.embeddings:
                if self._dimensions.get(embedding.name) != len(embedding.values):
                    raise Unconvertible(
                        f"embedding {embedding.name!r} has {len(embedding.values)} components; epoch {self._epoch} "
                        f"has {self._dimensions.get(embedding.name, 'none of this name')}"
                    )
            converted.embeddings.extend(document.embeddings)
        return converted

    def _checked(self, body: str) -> str:
        if not self._codec.fits(body):
            raise Unconvertible("; ".join(f"{fault.path}: {fault.text}" for fault in self._codec.faults(body)))
        return body

    def _rank_of(self, field: Field) -> int:
        known = self._fields.get(field.name)
        if known is None:
            raise Unconvertible(f"field {field.name!r} is not in the schema of epoch {self._epoch}")
        rank, schema = known
        kind = VALUE_KINDS.get(schema.type)
        if len(field.values) > 1 and not schema.repeated:
            raise Unconvertible(f"field {field.name} has {len(field.values)} values, but is not repeated")
        for value in field.values:
            if value.WhichOneof("kind") != kind:
                raise Unconvertible(
                    f"field {field.name} is {FieldType.Name(schema.type)[11:]} and takes {kind}, "
                    f"not {value.WhichOneof('kind') or 'an empty value'}"
                )
        return rank
