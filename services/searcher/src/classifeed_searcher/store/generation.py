"""A generation: an index of a client's active epoch with its state, in one folder."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from classifeed.documents.v1 import index_document_pb2, index_queue_service_pb2, schema_pb2
from classifeed.documents.v1.document_pb2 import RawDocument
from classifeed_common.child_processes import ChildProcesses
from classifeed_common.kafka import Position
from classifeed_domain.document_digest import digest_of
from classifeed_domain.document_shards import SHARDS, hash_of, shard_of
from classifeed_searcher.domain.change_time import changed_at_s
from classifeed_searcher.domain.watermarks import Admission, Watermarks
from classifeed_searcher.engine.index import Sums, TantivyIndex
from classifeed_searcher.engine.writing.process import WriterProcess
from classifeed_searcher.engine.writing.writer import Refused
from classifeed_searcher.metrics import DROPPED, REFUSED, TIME_TO_SEARCHABLE
from classifeed_searcher.store.generation_files import index_of, read_schema, schema_of, state_of
from classifeed_searcher.store.state_file import IndexState, UnusableIndex, read_state, write_state

MAIN = index_queue_service_pb2.INDEX_QUEUE_MAIN
EMERGENCY = index_queue_service_pb2.INDEX_QUEUE_EMERGENCY

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class IndexWrite:
    """Writes of one effect so far; they are invisible before the commit.

    `changed_s` has the times of the documents' changes in Unix seconds, where they are known.
    """

    watermarks: Watermarks
    refused: dict[str, int]
    is_touched: bool = False
    dropped: dict[str, int] = field(default_factory=dict)
    changed_s: list[float] = field(default_factory=list)

    def drop(self, reason: str) -> None:
        """Count a document that is not applied."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1


@dataclass(frozen=True, slots=True)
class IndexDigest:
    """Sums of the index by shard, with the state of the index at that time."""

    sums: Mapping[int, Sums]
    state: IndexState


class IndexGeneration:
    """An index with one writer, a process that this object starts.

    The folder also has the schema, so that the index can be searched while the receiver is unavailable.
    """

    def __init__(
        self, folder: Path, schema: schema_pb2.Schema, state: IndexState, children: ChildProcesses | None = None
    ) -> None:
        self.folder = folder
        self.schema = schema
        self.state = state
        self.writer = WriterProcess(index_of(folder), schema, children=children)
        self.index = TantivyIndex(index_of(folder), schema, self.writer)
        # `digest` must see the index and the state of the same commit.
        self._commit_lock = threading.Lock()

    @classmethod
    def create(cls, folder: Path, schema: schema_pb2.Schema, children: ChildProcesses | None = None) -> IndexGeneration:
        """Create an empty generation, whose writer `children` watches; it can be reopened after its first commit."""
        folder.mkdir(parents=True)
        schema_of(folder).write_bytes(schema.SerializeToString(deterministic=True))
        return cls(folder, schema, IndexState(), children)

    @classmethod
    def open(cls, folder: Path, children: ChildProcesses | None = None) -> IndexGeneration:
        """Open a stored generation. `children` watches its writer.

        Raises:
            UnusableIndex: the generation is incomplete.
        """
        state = read_state(state_of(folder))
        try:
            schema = read_schema(folder)
            if not (index_of(folder) / "meta.json").exists():
                raise UnusableIndex(f"{index_of(folder)} has no index")
            return cls(folder, schema, state, children)
        except (OSError, ValueError) as error:
            raise UnusableIndex(f"{folder} cannot be opened ({error})") from error

    @property
    def epoch(self) -> int:
        """The epoch of its documents."""
        return self.schema.epoch

    @property
    def state_path(self) -> Path:
        """The file with its state."""
        return state_of(self.folder)

    def searchable(self, shard: int) -> int:
        """Return the index of the last searchable element of a shard's queue `main`."""
        return self.state.watermarks.reached(shard, MAIN)

    def behind(self, ends: Mapping[tuple[str, int], Position]) -> int:
        """Return the number of records before some ends that are not applied; every partition must have a position."""
        known = self.state.positions
        return sum(max(0, end.next - known[part].next) for part, end in ends.items())

    def has_reached(self, ends: Mapping[tuple[str, int], Position]) -> bool:
        """Return whether all records before some ends are applied."""
        known = self.state.positions
        return all(part in known and known[part].next >= end.next for part, end in ends.items())

    def open_write(self) -> IndexWrite:
        """Begin an effect."""
        return IndexWrite(self.state.watermarks.copy(), dict(self.state.refused))

    def apply(self, write: IndexWrite, documents: Sequence[index_document_pb2.IndexDocument]) -> Refused:
        """Apply documents, except repetitions, those of a sender that has lost the shard, and those of another epoch.

        Blocks.

        Returns:
            Reasons of the documents that do not fit the schema, by their place. If there are any, roll back the effect.
        """
        admitted = []
        for at, document in enumerate(documents):
            admission = write.watermarks.admit(document.shard, document.queue, document.fence, document.idx)
            if admission is not Admission.NEW:
                _log.debug(
                    "searcher.element.dropped",
                    pk=document.pk,
                    shard=document.shard,
                    idx=document.idx,
                    why=admission.value,
                )
                write.drop(admission.value)
            elif document.epoch != self.epoch:
                write.drop("other_epoch")
            else:
                admitted.append(at)
        if not admitted:
            return {}
        write.is_touched = True
        refused = self.index.apply([documents[at] for at in admitted])
        for document in (documents[at] for at in admitted):
            write.refused.pop(document.pk, None)
            if document.queue == MAIN and (changed_s := changed_at_s(document)) is not None:
                write.changed_s.append(changed_s)
        return {admitted[place]: why for place, why in refused.items()}

    def fill(self, write: IndexWrite, documents: Sequence[RawDocument]) -> None:
        """Add documents of the registry to a generation that has none of their keys. Blocks."""
        write.is_touched = True
        for at, why in self.index.add(documents).items():
            refused = documents[at]
            write.refused[refused.pk] = refused.version
            _log.warning("searcher.refused", client=self.schema.client, pk=refused.pk, version=refused.version, why=why)

    def refuse_element(self, write: IndexWrite, document: index_document_pb2.IndexDocument) -> None:
        """Record an element that does not fit the index, so that comparisons with the registry do not report it."""
        admission = write.watermarks.admit(document.shard, document.queue, document.fence, document.idx)
        if admission is Admission.NEW and document.epoch == self.epoch:
            write.refused[document.pk] = document.version

    def commit(self, write: IndexWrite, positions: Mapping[tuple[str, int], Position]) -> None:
        """Make an effect durable and visible: first the index, then its state. Blocks."""
        with self._commit_lock:
            if write.is_touched:
                self.index.commit()
            state = IndexState({**self.state.positions, **positions}, write.watermarks, write.refused)
            write_state(self.state_path, state)
            refused = len(state.refused.keys() - self.state.refused.keys())
            self.state = state
        client, now_s = self.schema.client, time.time()
        for changed_s in write.changed_s:
            TIME_TO_SEARCHABLE.labels(client).observe(max(0.0, now_s - changed_s))
        REFUSED.labels(client).inc(refused)
        for reason, count in write.dropped.items():
            DROPPED.labels(client, reason).inc(count)

    def roll_back(self, write: IndexWrite) -> None:
        """Discard an effect. Blocks."""
        if write.is_touched:
            self.index.rollback()

    def begin(self, positions: Mapping[tuple[str, int], Position]) -> None:
        """Store the first positions durably; existing positions are kept. Blocks."""
        with self._commit_lock:
            state = IndexState({**positions, **self.state.positions}, self.state.watermarks, self.state.refused)
            write_state(self.state_path, state)
            self.state = state

    def digest(self, first: int = 0, last: int = SHARDS - 1) -> IndexDigest:
        """Return the sums of the shards from `first` to `last`, with the state of the index at the same time.

        Blocks, about 0.1 µs per document.
        """
        with self._commit_lock:
            snapshot, state = self.index.snapshot(), self.state
        return IndexDigest(snapshot.sums(first, last), state)

    def digest_as_if(self, digest: IndexDigest, shard: int, missing: Mapping[str, int]) -> Sums:
        """Return the sums of a shard as if the index had some documents that it could not apply.

        Args:
            digest: digest of the index.
            shard: number of the shard.
            missing: version by key of missing documents of this shard; documents that the index refused are added.
        """
        sums = digest.sums.get(shard, Sums())
        refused = {pk: version for pk, version in digest.state.refused.items() if shard_of(hash_of(pk)) == shard}
        for pk, version in {**refused, **missing}.items():
            pk_hash, found = hash_of(pk), self.index.get(pk)
            sums = sums.plus(digest_of(pk_hash, version), 1)
            if found is not None:
                sums = sums.plus(digest_of(pk_hash, found.version), -1)
        return sums

    def close(self) -> None:
        """Release the writer's lock."""
        self.index.close()
