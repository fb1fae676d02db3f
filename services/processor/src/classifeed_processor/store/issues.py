"""Statements about issues that have no rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from classifeed.feeds.v1.issue_record_pb2 import IssueBlock, IssueIndex
from classifeed_common.db import Tx, load_queries
from classifeed_processor.domain.issue_blocks import PackedBlock
from classifeed_processor.domain.tasks import TaskKey

_SQL: Final = load_queries(__package__, "issues.sql")
_INSERT_CHUNKS = _SQL["insert_chunks"]
_LIST_CHUNKS = _SQL["list_chunks"]
_READ_CHUNK = _SQL["read_chunk"]
_COUNT_CHUNKS = _SQL["count_chunks"]
_PUT_ASIDE = _SQL["put_aside"]
_DELETE_CHUNKS = _SQL["delete_chunks"]
_READ_FILE = _SQL["read_file"]
_PUT_FILE = _SQL["put_file"]
_ALL: Final = (1 << 31) - 1


class FileKind(IntEnum):
    """Kind of a load's file."""

    ISSUES = 1


class Chunk(NamedTuple):
    """A chunk without its issues."""

    chunk_id: int
    block: IssueBlock


class IssueFile(NamedTuple):
    """The file of a load.

    Attributes:
        sha256: hash of the object, in hex.
        issues: number of issues in the file.
        blocks: index of the blocks in the file.
    """

    sha256: str
    issues: int
    blocks: IssueIndex


async def insert_chunks(tx: Tx, key: TaskKey, run: int, chunks: Iterable[PackedBlock]) -> None:
    """Insert chunks of a run's issues."""
    packed = list(chunks)
    if packed:
        columns = {
            "summaries": [each.block.SerializeToString() for each in packed],
            "issues": [each.content for each in packed],
        }
        await tx.execute(_INSERT_CHUNKS, {**key._asdict(), "run": run, **columns})


async def list_chunks(tx: Tx, key: TaskKey, run: int, *, limit: int = _ALL) -> list[Chunk]:
    """Return the first chunks of a run, in the order of their insertion."""
    rows = await (await tx.execute(_LIST_CHUNKS, {**key._asdict(), "run": run, "limit": limit})).fetchall()
    return [Chunk(row[0], IssueBlock.FromString(row[1])) for row in rows]


async def find_chunk(tx: Tx, key: TaskKey, chunk_id: int) -> bytes | None:
    """Return the compressed issues of a chunk; None: it was packed meanwhile."""
    row = await (await tx.execute(_READ_CHUNK, {**key._asdict(), "chunk_id": chunk_id})).fetchone()
    return None if row is None else bytes(row[0])


async def count_chunks(tx: Tx, key: TaskKey, *, limit: int) -> tuple[int | None, int]:
    """Return the id of a task's first chunk, and the number of its chunks, counted up to `limit`."""
    row = await (await tx.execute(_COUNT_CHUNKS, {**key._asdict(), "limit": limit})).fetchone()
    assert row is not None
    return row[0], row[1]


async def put_aside(tx: Tx, key: TaskKey, chunk_ids: Sequence[int]) -> None:
    """Exclude damaged chunks from lists and files; they are deleted with their task."""
    if chunk_ids:
        await tx.execute(_PUT_ASIDE, {**key._asdict(), "chunk_ids": list(chunk_ids)})


async def delete_chunks(tx: Tx, key: TaskKey, chunk_ids: Sequence[int]) -> None:
    """Delete chunks whose issues are in the file."""
    await tx.execute(_DELETE_CHUNKS, {**key._asdict(), "chunk_ids": list(chunk_ids)})


async def find_file(tx: Tx, key: TaskKey) -> IssueFile | None:
    """Return the file of a load's issues; None: there is none."""
    row = await (await tx.execute(_READ_FILE, {**key._asdict(), "kind": FileKind.ISSUES})).fetchone()
    return None if row is None else IssueFile(row[0], row[1], IssueIndex.FromString(row[2]))


async def put_file(tx: Tx, key: TaskKey, file: IssueFile) -> None:
    """Store the name of the file of a load's issues, in place of the previous one."""
    columns = {"object": file.sha256, "count": file.issues, "index": file.blocks.SerializeToString()}
    await tx.execute(_PUT_FILE, {**key._asdict(), "kind": FileKind.ISSUES, **columns})
