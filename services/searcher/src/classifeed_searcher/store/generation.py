"""A generation: one index of a client's active epoch with the state that belongs to it, in a folder of its own."""

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
    """What one effect has put so far; nothing of it is seen before the commit.

    `changed_s` has when the things changed whose documents these are, in seconds of the epoch, where that is known.
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
    """What the index holds, by shard, and how far it had come then."""

    sums: Mapping[int, Sums]
    state: IndexState


class IndexGeneration:
    """An index with one writer: a process that this object starts. The schema that it was made with lies beside it, so
    that it is searched without anybody.
    """

    def __init__(
        self, folder: Path, schema: schema_pb2.Schema, state: IndexState, children: ChildProcesses | None = None
    ) -> None:
        self.folder = folder
        self.schema = schema
        self.state = state
        # How many commits there were: what was searched at an earlier one has to look again.
        self.commits = 0
        self.writer = WriterProcess(index_of(folder), schema, children=children)
        self.index = TantivyIndex(index_of(folder), schema, self.writer)
        # A commit and the state that says so change together for whoever digests.
        self._commit_lock = threading.Lock()

    @classmethod
    def create(cls, folder: Path, schema: schema_pb2.Schema, children: ChildProcesses | None = None) -> IndexGeneration:
        """Make an empty one; it cannot be opened again before its first commit. `children` watches its writer."""
        folder.mkdir(parents=True)
        schema_of(folder).write_bytes(schema.SerializeToString(deterministic=True))
        return cls(folder, schema, IndexState(), children)

    @classmethod
    def open(cls, folder: Path, children: ChildProcesses | None = None) -> IndexGeneration:
        """Open a stored one. `children` watches its writer.

        Raises:
            UnusableIndex: it is not whole.
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
        """The file that says how far it has come."""
        return state_of(self.folder)

    def searchable(self, shard: int) -> int:
        """Return the greatest element of a shard's live queue that can be found."""
        return self.state.watermarks.reached(shard, MAIN)

    def behind(self, ends: Mapping[tuple[str, int], Position]) -> int:
        """Return how many records of the topic before some offsets were not taken in; there are positions for all."""
        known = self.state.positions
        return sum(max(0, end.next - known[part].next) for part, end in ends.items())

    def has_reached(self, ends: Mapping[tuple[str, int], Position]) -> bool:
        """Return whether everything of the topic before some offsets was taken in."""
        known = self.state.positions
        return all(part in known and known[part].next >= end.next for part, end in ends.items())

    def open_write(self) -> IndexWrite:
        """Begin an effect."""
        return IndexWrite(self.state.watermarks.copy(), dict(self.state.refused))

    def apply(self, write: IndexWrite, documents: Sequence[index_document_pb2.IndexDocument]) -> Refused:
        """Put documents unless they are repetitions, their sender has lost the shard, or they are of another epoch.
        Blocks.

        Returns:
            Why documents do not fit the schema, by their place; where there are some, the effect must be rolled back.
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
        """Put documents of the registry into a generation that has none of their keys. Blocks."""
        write.is_touched = True
        for at, why in self.index.add(documents).items():
            refused = documents[at]
            write.refused[refused.pk] = refused.version
            _log.warning("searcher.refused", client=self.schema.client, pk=refused.pk, version=refused.version, why=why)

    def refuse_element(self, write: IndexWrite, document: index_document_pb2.IndexDocument) -> None:
        """Note an element that the index cannot take: a comparison with the registry must not find it missing."""
        admission = write.watermarks.admit(document.shard, document.queue, document.fence, document.idx)
        if admission is Admission.NEW and document.epoch == self.epoch:
            write.refused[document.pk] = document.version

    def commit(self, write: IndexWrite, positions: Mapping[tuple[str, int], Position]) -> None:
        """Make an effect durable and seen: the index first, then the state that says so. Blocks."""
        with self._commit_lock:
            if write.is_touched:
                self.index.commit()
                self.commits += 1
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
        """Forget an effect. Blocks."""
        if write.is_touched:
            self.index.rollback()

    def begin(self, positions: Mapping[tuple[str, int], Position]) -> None:
        """Write first positions durably; those that are there stay. Blocks."""
        with self._commit_lock:
            state = IndexState({**positions, **self.state.positions}, self.state.watermarks, self.state.refused)
            write_state(self.state_path, state)
            self.state = state

    def digest(self, first: int = 0, last: int = SHARDS - 1) -> IndexDigest:
        """Return what the index holds of the shards from `first` to `last`, together with how far it has come. Blocks,
        about 0.1 µs a document.
        """
        with self._commit_lock:
            snapshot, state = self.index.snapshot(), self.state
        return IndexDigest(snapshot.sums(first, last), state)

    def digest_as_if(self, digest: IndexDigest, shard: int, missing: Mapping[str, int]) -> Sums:
        """Return the sums of a shard as they would be with some documents in it that it could not take.

        Args:
            digest: taken before.
            shard: which.
            missing: version by key, of documents of this shard. Those that the index itself refused come on top.
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
        """Give the writer's lock back."""
        self.index.close()
