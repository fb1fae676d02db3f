"""The indexes of a client by epoch, with the state that belongs to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from classifeed.documents.v1 import index_document_pb2, index_queue_service_pb2, schema_pb2
from classifeed_common.kafka import Position
from classifeed_searcher.domain.watermarks import Watermarks
from classifeed_searcher.engine.index import TantivyIndex
from classifeed_searcher.store.state_file import IndexState, read_state, write_state

_MAIN = index_queue_service_pb2.INDEX_QUEUE_MAIN


@dataclass(slots=True)
class IndexWrite:
    """What one effect has put so far; nothing of it is seen before the commit."""

    watermarks: Watermarks
    touched: set[int] = field(default_factory=set)
    dropped: int = 0


class IndexCatalogue:
    """Indexes of one client, one folder an epoch, with one writer: the process that holds this object.

    `schemas/<epoch>.binpb` keeps the schema that an index was made with, so that the searcher starts without anybody.
    """

    def __init__(self, folder: Path, client: str) -> None:
        self.client = client
        self._folder = folder / client
        self._folder.mkdir(parents=True, exist_ok=True)
        self.state_path = self._folder / "state.json"
        self.state = read_state(self.state_path)
        self._indexes: dict[int, TantivyIndex] = {}
        for stored in sorted(self._folder.glob("*.schema")):
            schema = schema_pb2.Schema.FromString(stored.read_bytes())
            self._indexes[schema.epoch] = TantivyIndex(self._folder / str(schema.epoch), schema)

    @property
    def active(self) -> TantivyIndex | None:
        """The index that is searched; None until the first schema came."""
        return self._indexes[min(self._indexes)] if self._indexes else None

    def knows(self, epoch: int) -> bool:
        """Says whether the epoch has an index."""
        return epoch in self._indexes

    def add(self, schema: schema_pb2.Schema) -> None:
        """Makes the index of an epoch; idempotent."""
        if self.knows(schema.epoch):
            return
        path = self._folder / f"{schema.epoch}.schema"
        path.write_bytes(schema.SerializeToString(deterministic=True))
        self._indexes[schema.epoch] = TantivyIndex(self._folder / str(schema.epoch), schema)

    def open_write(self) -> IndexWrite:
        """Begins an effect."""
        return IndexWrite(self.state.watermarks.copy())

    def apply(self, write: IndexWrite, document: index_document_pb2.IndexDocument) -> None:
        """Puts a document unless it is a repetition or its sender has lost the shard.

        Raises:
            WrongValue: the document does not fit the schema; nothing of it was written.
        """
        if not write.watermarks.admit(document.shard, document.queue, document.fence, document.idx):
            write.dropped += 1
            return
        self._indexes[document.epoch].apply(document)
        write.touched.add(document.epoch)

    def commit(self, write: IndexWrite, positions: Mapping[tuple[str, int], Position]) -> None:
        """Makes an effect durable and seen: the indexes first, then the state that says so. Blocks."""
        for epoch in write.touched:
            self._indexes[epoch].commit()
        state = IndexState({**self.state.positions, **positions}, write.watermarks)
        write_state(self.state_path, state)
        self.state = state

    def roll_back(self, write: IndexWrite) -> None:
        """Forgets an effect. Blocks."""
        for epoch in write.touched:
            self._indexes[epoch].rollback()

    def begin(self, positions: Mapping[tuple[str, int], Position]) -> None:
        """Writes first positions durably; those that are there stay. Blocks."""
        state = IndexState({**positions, **self.state.positions}, self.state.watermarks)
        write_state(self.state_path, state)
        self.state = state

    def searchable(self, shard: int) -> int:
        """Returns the greatest element of a shard's live queue that can be found."""
        return self.state.watermarks.reached(shard, _MAIN)

    def close(self) -> None:
        """Gives the writers' locks back."""
        for index in self._indexes.values():
            index.close()
