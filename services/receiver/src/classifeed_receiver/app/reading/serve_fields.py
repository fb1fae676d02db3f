"""Serve documents to readers that do not take bodies: with equivalent `fields` instead of `body`."""

from __future__ import annotations

from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed_receiver.domain.schemas import Epochs


def with_fields(document: RawDocument, epochs: Epochs) -> RawDocument:
    """Return a document with `fields` instead of `body`; a document without a body is returned as it is.

    Raises:
        msgspec.DecodeError: the body does not fit the known schema of its epoch.
    """
    if not document.body:
        return document
    served = RawDocument()
    served.CopyFrom(document)
    served.ClearField("body")
    served.fields.extend(epochs.by_number[document.epoch].codec.fields_of(document.body))
    return served


def serialized_with_fields(content: bytes, epochs: Epochs) -> bytes:
    """Return a serialized document with `fields` instead of `body`.

    Raises:
        msgspec.DecodeError: as `with_fields`.
    """
    document = RawDocument.FromString(content)
    return with_fields(document, epochs).SerializeToString() if document.body else content
