"""Read all issues of a load as one list from rows, chunks, and the file in the object store (ADR 0096)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog

from classifeed.feeds.v1.issue_record_pb2 import IssueBlock
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed_common.blobs import BlobCorrupt, BlobMissing, BlobPiece, BlobStore
from classifeed_common.db import Database
from classifeed_common.errors import FailedPrecondition
from classifeed_processor.app.issues.join_issues import Segment, join_issues
from classifeed_processor.domain.issue_blocks import BlockDamaged, IssueFilter, IssueKey, key_of, unpack_block
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import issues, reading

_log = structlog.get_logger(__name__)
_ROWS: Final = 1000
_BEGIN: Final[IssueKey] = (0, 0, 0, "")


@dataclass(frozen=True, slots=True)
class IssuePlace:
    """Position in the list: after `seen` issues with this key."""

    key: IssueKey = _BEGIN
    seen: int = 0


class _ChunkPacked(Exception):
    """A chunk was packed into the file meanwhile."""


class ReadIssues:
    """Reads issues of loads.

    Args:
        database: database of the tasks.
        blobs: object store of the files.
    """

    def __init__(self, database: Database, blobs: BlobStore) -> None:
        self._database = database
        self._blobs = blobs

    async def __call__(
        self, key: TaskKey, run: int, wanted: IssueFilter, place: IssuePlace | None = None
    ) -> AsyncGenerator[tuple[OfferError, IssuePlace], None]:
        """Yield issues of a run, each with the place after it: errors before warnings, each in the order of the file.

        Issues have their stored texts, and no name of their task. No transaction is open while the caller works. Chunks
        that are packed meanwhile are read from the file.

        Raises:
            FailedPrecondition: ISSUES_GONE, the file is missing or damaged.
            Unavailable: the object store does not respond.
        """
        place = place or IssuePlace()
        is_complete = False
        while not is_complete:
            to_skip = place.seen
            try:
                async for error in self._merge(key, run, wanted, place.key):
                    found = key_of(error)
                    is_next = found != place.key
                    if to_skip and not is_next:
                        to_skip -= 1
                        continue
                    place = IssuePlace(found, 1 if is_next else place.seen + 1)
                    yield error, place
                is_complete = True
            except _ChunkPacked:
                pass  # the next attempt reads its issues from the file

    async def _merge(self, key: TaskKey, run: int, wanted: IssueFilter, begin: IssueKey) -> AsyncIterator[OfferError]:
        async with self._database.transaction() as tx:
            segments = [
                Segment(chunk.block, partial(self._load_chunk, key, chunk.chunk_id))
                for chunk in await issues.list_chunks(tx, key, run)
            ]
            # Read the file after the chunks: issues packed in between are then read twice at worst, but never missed.
            file = await issues.find_file(tx, key)
        if file is not None:
            segments += [
                Segment(block, partial(self.load_block, key, file.sha256, block)) for block in file.blocks.blocks
            ]
        async for error in join_issues(self._rows(key, run, wanted, begin), segments, wanted, begin):
            yield error

    async def _rows(self, key: TaskKey, run: int, wanted: IssueFilter, begin: IssueKey) -> AsyncIterator[OfferError]:
        while True:
            parameters = _parameters_of(wanted, begin, _ROWS + 1)
            async with self._database.transaction() as tx:
                rows = await reading.list_errors(tx, key, run, parameters)
            for row in rows[:_ROWS]:
                yield row
            if len(rows) <= _ROWS:
                return
            begin = key_of(rows[_ROWS])

    async def _load_chunk(self, key: TaskKey, chunk_id: int) -> Sequence[OfferError]:
        async with self._database.transaction() as tx:
            content = await issues.find_chunk(tx, key, chunk_id)
        if content is None:
            raise _ChunkPacked
        try:
            return await asyncio.to_thread(unpack_block, content)
        except BlockDamaged as error:
            _log.error("issues.chunk.damaged", task=key.name, chunk=chunk_id, error=str(error))
            return ()

    async def load_block(self, key: TaskKey, sha256: str, block: IssueBlock) -> Sequence[OfferError]:
        """Return the issues of a block of a file.

        Raises:
            FailedPrecondition: ISSUES_GONE, the file is missing or damaged.
            Unavailable: the object store does not respond.
        """
        piece = BlobPiece(block.offset, block.size_bytes, block.sha256.hex())
        try:
            return await asyncio.to_thread(unpack_block, await self._blobs.get_piece(sha256, piece))
        except (BlobMissing, BlobCorrupt, BlockDamaged) as error:
            raise FailedPrecondition(
                "ISSUES_GONE",
                f"The file with the issues of {key.name} is missing in the object store or damaged: {error}. Load the "
                "file of the feed again to see its issues.",
            ) from error


def _parameters_of(wanted: IssueFilter, begin: IssueKey, limit: int) -> dict[str, Any]:
    level, ordinal, line, error_id = begin
    return {
        "from_level": level,
        "from_ordinal": ordinal,
        "from_line": line,
        "from_error_id": error_id,
        "level": wanted.level,
        "kind": wanted.kind,
        "code": wanted.code,
        "field": wanted.field,
        "external_id": wanted.external_id,
        "limit": limit,
    }
