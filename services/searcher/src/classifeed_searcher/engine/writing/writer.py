"""Writer of an index, for the process that has the engine's writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from classifeed.documents.v1.document_pb2 import DOCUMENT_ACTION_UPSERT, RawDocument
from classifeed.documents.v1.index_document_pb2 import IndexDocument
from classifeed.documents.v1.schema_pb2 import Schema
from classifeed_searcher.engine.fields import PK, WrongValue
from classifeed_searcher.engine.files import open_index
from classifeed_searcher.engine.writing.documents import DocumentComposer, SourceDocument

_HEAP_BYTES: Final = 64_000_000

Refused = Mapping[int, str]
"""Reasons of refused documents, by their place in the call; the index is unchanged for these."""


class LockedIndex(Exception):
    """Another process writes this index."""


class IndexWriter(Protocol):
    """Writes one index, from one thread at a time. Writes are invisible before `commit`. All methods block."""

    def apply(self, documents: Sequence[IndexDocument]) -> Refused:
        """Add documents to the index or delete them, in their order; idempotent."""
        ...

    def add(self, documents: Sequence[RawDocument]) -> Refused:
        """Add documents to an index that does not have their keys; faster than `apply`."""
        ...

    def commit(self) -> None:
        """Make all writes durable. Takes about 100 ms."""
        ...

    def rollback(self) -> None:
        """Discard all writes since the last commit."""
        ...

    def close(self) -> None:
        """Release the engine's lock; uncommitted writes are lost."""
        ...


class DocumentWriter:
    """An IndexWriter in this process.

    Raises:
        LockedIndex: on opening, if another process writes the index.
        ValueError: on opening, if the files are not an index.
    """

    def __init__(self, folder: Path, schema: Schema) -> None:
        index = open_index(folder, schema)
        try:
            self._writer = index.writer(_HEAP_BYTES, 1)
        except ValueError as error:
            if "LockBusy" in str(error):
                raise LockedIndex(f"{folder} is written by another process: stop that one first") from error
            raise
        self._composer = DocumentComposer(schema, index.schema)

    def apply(self, documents: Sequence[IndexDocument]) -> Refused:
        """See IndexWriter."""
        return self._put(documents, are_new=False)

    def add(self, documents: Sequence[RawDocument]) -> Refused:
        """See IndexWriter."""
        return self._put(documents, are_new=True)

    def commit(self) -> None:
        """See IndexWriter."""
        self._writer.commit()

    def rollback(self) -> None:
        """See IndexWriter."""
        self._writer.rollback()

    def close(self) -> None:
        """See IndexWriter."""
        self._writer.rollback()
        del self._writer

    def _put(self, documents: Sequence[SourceDocument], *, are_new: bool) -> Refused:
        refused: dict[int, str] = {}
        for at, document in enumerate(documents):
            is_upsert = are_new or document.action == DOCUMENT_ACTION_UPSERT
            try:
                composed = self._composer.compose(document) if is_upsert else None
            except Exception as error:  # noqa: BLE001 - no error of one document may block the others
                refused[at] = str(error) if isinstance(error, WrongValue) else f"{type(error).__name__}: {error}"
                continue
            if not are_new:
                self._writer.delete_documents_by_term(PK, document.pk)
            if composed is not None:
                self._writer.add_document(composed)
        return refused
