"""Pack the issues of an ended load: all chunks become one file in the object store (ADR 0096)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import structlog

from classifeed.feeds.v1.issue_record_pb2 import IssueIndex
from classifeed.feeds.v1.load_pb2 import OfferError
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Database
from classifeed_common.spool import run_folder
from classifeed_jobs import JobContext
from classifeed_processor.app.issues.join_issues import Segment, join_issues
from classifeed_processor.app.issues.read_issues import ReadIssues
from classifeed_processor.domain.issue_blocks import (
    BLOCK_ISSUES,
    BlockDamaged,
    IssueFilter,
    pack_block,
    unpack_block,
)
from classifeed_processor.domain.tasks import TaskKey
from classifeed_processor.store import issues, tasks
from classifeed_processor.store.issues import Chunk, IssueFile

_log = structlog.get_logger(__name__)
_REFS: Final = BlobRefs()
# Chunks of late issues overlap: in the worst case so many are in memory at once.
_ROUND_CHUNKS: Final = 2048


async def pack_issues(ctx: JobContext, blobs: BlobStore, spool_dir: Path, key: TaskKey) -> None:
    """Pack all chunks of a load into one file, and delete the chunks.

    It may be killed at any point and run again: the transaction that stores the new file's name also deletes the
    chunks. The reference to the file is added before its upload. A file that a killed run has left loses its reference
    in the next run, or with the task. A damaged chunk is set aside and logged.

    Raises:
        Unavailable: the object store does not respond.
        ClaimLost: another run of the job has begun.
    """
    while await _pack_round(ctx, blobs, spool_dir, key):
        pass


async def _pack_round(ctx: JobContext, blobs: BlobStore, spool_dir: Path, key: TaskKey) -> bool:
    """Pack the first chunks; return whether there were any."""
    async with ctx.db.transaction() as tx:
        state = await tasks.lock_task(tx, key)
        if state is None or not state.has_ended:
            return False
        chunks = await issues.list_chunks(tx, key, state.run, limit=_ROUND_CHUNKS)
        before = await issues.find_file(tx, key)
    damaged: set[int] = set()
    if not chunks:
        return False
    with run_folder(spool_dir) as folder:
        path = folder / "issues"
        file = await _write(path, _read(ctx.db, blobs, key, chunks, before, damaged))
        if file.issues:
            async with ctx.guarded_transaction() as tx:
                if await tasks.lock_task(tx, key) is None:
                    return False
                await _REFS.add(tx, file.sha256, key.issues_ref)
            await blobs.put_file(path, file.sha256)
    async with ctx.guarded_transaction() as tx:
        if await tasks.lock_task(tx, key) is None:
            return False  # the clean-up of the task has dropped the reference
        if file.issues:
            await _REFS.drop(tx, key.issues_ref)
            await _REFS.add(tx, file.sha256, key.issues_ref)
            await issues.put_file(tx, key, file)
        await issues.put_aside(tx, key, list(damaged))
        await issues.delete_chunks(tx, key, [each.chunk_id for each in chunks if each.chunk_id not in damaged])
    _log.info("issues.packed", task=key.name, issues=file.issues, chunks=len(chunks), sha256=file.sha256)
    return True


def _read(
    database: Database,
    blobs: BlobStore,
    key: TaskKey,
    chunks: Sequence[Chunk],
    before: IssueFile | None,
    damaged: set[int],
) -> AsyncIterator[OfferError]:
    """Yield the issues of chunks and of the previous file, in the order of the list; fill `damaged` with chunk ids."""

    async def load(chunk_id: int) -> Sequence[OfferError]:
        async with database.transaction() as tx:
            content = await issues.find_chunk(tx, key, chunk_id)
        try:
            return unpack_block(content or b"")
        except BlockDamaged as error:
            _log.error("issues.chunk.damaged", task=key.name, chunk=chunk_id, error=str(error))
            damaged.add(chunk_id)
            return ()

    reader = ReadIssues(database, blobs)
    segments = [Segment(chunk.block, partial(load, chunk.chunk_id)) for chunk in chunks]
    if before is not None:
        blocks = before.blocks.blocks
        segments += [Segment(block, partial(reader.load_block, key, before.sha256, block)) for block in blocks]
    return join_issues(_nothing(), segments, IssueFilter(), (0, 0, 0, ""))


async def _nothing() -> AsyncIterator[OfferError]:
    no_rows: tuple[OfferError, ...] = ()
    for error in no_rows:
        yield error


async def _write(path: Path, errors: AsyncIterator[OfferError]) -> IssueFile:
    """Write issues, given in the order of the list, to blocks of a file."""
    with path.open("wb") as file:
        writer = _BlockWriter(file)
        pending: list[OfferError] = []
        async for error in errors:
            if pending and (len(pending) == BLOCK_ISSUES or pending[0].level != error.level):
                await asyncio.to_thread(writer.add, pending)
                pending = []
            pending.append(error)
        if pending:
            await asyncio.to_thread(writer.add, pending)
    return IssueFile(writer.digest.hexdigest(), writer.count, writer.index)


@dataclass
class _BlockWriter:
    file: BinaryIO
    index: IssueIndex = field(default_factory=IssueIndex)
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    size_bytes: int = 0
    count: int = 0

    def add(self, errors: Sequence[OfferError]) -> None:
        block, content = pack_block(errors)
        block.offset, block.size_bytes = self.size_bytes, len(content)
        block.sha256 = hashlib.sha256(content).digest()
        self.index.blocks.append(block)
        self.file.write(content)
        self.digest.update(content)
        self.size_bytes += len(content)
        self.count += len(errors)
