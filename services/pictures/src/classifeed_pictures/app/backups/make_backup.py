"""Makes a backup of the state: a snapshot per shard, and the manifest last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import structlog

from classifeed_common.db import Database, Tx
from classifeed_common.spool import run_folder
from classifeed_domain.topics import PICTURES_EVENTS, PICTURES_RESULTS
from classifeed_pictures.clients.backup_bucket import BackupBucket
from classifeed_pictures.clients.backup_rows import PAGE_ROWS, RowWriter
from classifeed_pictures.domain.backups import BackupFile, Manifest, Stand, lowest, name_at, removable
from classifeed_pictures.store.backups import backups
from classifeed_pictures.store.backups.backup_columns import RESULTS, SHARDED, WHOLE, names_of, schema_of
from classifeed_pictures.store.states.states import get_now

SHARD_STATES: Final = 20_000
_log = structlog.get_logger(__name__)


@dataclass
class _Parts:
    """The parts of a backup that are written so far."""

    files: list[BackupFile] = field(default_factory=list)
    stands: list[Stand] = field(default_factory=list)
    shards: int = 0
    highest_attempt: int = 0


@dataclass(frozen=True, slots=True)
class MakeBackup:
    """Makes backups. If a run dies, its backup stays incomplete and is never used.

    Attributes:
        database: database with the state.
        bucket: bucket for the files.
        rules_version: returns the version of the rules of canonical URLs.
        spool_dir: folder for the files of one shard at a time.
        kept: number of complete backups that are kept.
        shard_states: maximum number of states in a shard.
    """

    database: Database
    bucket: BackupBucket
    rules_version: Callable[[], str]
    spool_dir: Path
    kept: int
    shard_states: int = SHARD_STATES

    async def __call__(self) -> AsyncGenerator[int, None]:
        """Make a backup and remove old ones; yield the number of states written so far.

        Raises:
            Unavailable: the object store does not respond; the state and all other backups are untouched.
        """
        async with self.database.transaction() as tx:
            name = name_at(await get_now(tx))
        parts = _Parts()
        with run_folder(self.spool_dir) as folder:
            after: bytes | None = b""
            while after is not None:
                after = await self._take_shard(name, folder, after, parts)
                yield sum(file.rows for file in parts.files if file.table == SHARDED[0])
            ended_at = await self._take_rest(name, folder, parts)
        stands = lowest(parts.stands)
        manifest = Manifest(
            name=name,
            ended_at=ended_at,
            rules=self.rules_version(),
            partitions=len({stand.partition for stand in stands if stand.topic == PICTURES_EVENTS}),
            shards=parts.shards,
            highest_attempt=parts.highest_attempt,
            stands=stands,
            files=tuple(parts.files),
        )
        await self.bucket.put_manifest(manifest)
        _log.info(
            "pictures.backup.made", backup=name, states=manifest.rows_of(SHARDED[0]), size_bytes=manifest.size_bytes
        )
        await self._remove_old(ended_at)

    async def _take_shard(self, name: str, folder: Path, after: bytes, parts: _Parts) -> bytes | None:
        """Write a snapshot of the next states; return the key after which the next shard begins, None at the end."""
        taken: list[BackupFile] = []
        async with self.database.transaction() as tx:
            parts.stands += await backups.begin_snapshot(tx)
            through = await backups.find_bound(tx, after=after, states=self.shard_states)
            bounds = {"after": after, "through": through}
            for table in SHARDED:
                watch = parts if table == SHARDED[0] else None
                file = f"{parts.shards:05}-{table}.parquet"
                taken.append(await _write(tx, folder, table, file, "shard", bounds, watch))
        await self._put(name, folder, taken, parts)
        parts.shards += 1
        return through

    async def _take_rest(self, name: str, folder: Path, parts: _Parts) -> datetime:
        """Write a snapshot of the tables without shards; return its time.

        It is taken last: a result sent after a shard's snapshot will arrive, and one not sent yet is in this snapshot.
        """
        taken: list[BackupFile] = []
        async with self.database.transaction() as tx:
            parts.stands += await backups.begin_snapshot(tx)
            for table in WHOLE:
                bounds = {"topic": PICTURES_RESULTS} if table == RESULTS else {}
                taken.append(await _write(tx, folder, table, f"{table}.parquet", table, bounds))
            ended_at = await get_now(tx)
        await self._put(name, folder, taken, parts)
        return ended_at

    async def _put(self, name: str, folder: Path, taken: Sequence[BackupFile], parts: _Parts) -> None:
        for file in taken:
            path = folder / file.name
            if file.rows:
                await self.bucket.put_file(name, file.name, path)
                parts.files.append(file)
            path.unlink()

    async def _remove_old(self, now: datetime) -> None:
        complete, begun = await self.bucket.list_complete(), await self.bucket.list_begun()
        for name in removable(complete, begun, kept=self.kept, now=now):
            await self.bucket.remove(name)
            _log.info("pictures.backup.removed", backup=name)


async def _write(
    tx: Tx,
    folder: Path,
    table: str,
    file: str,
    part: str,
    parameters: Mapping[str, Any],
    watch: _Parts | None = None,
) -> BackupFile:
    """Write rows into a file page by page, so that the transaction is never idle for longer than one page takes."""
    writer = await asyncio.to_thread(RowWriter, folder / file, schema_of(table))
    attempt = names_of(table).index("attempt") if watch is not None else 0
    async for rows in backups.read_rows(tx, table, part, parameters, page=PAGE_ROWS):
        await asyncio.to_thread(writer.write, rows)
        if watch is not None:
            watch.highest_attempt = max(watch.highest_attempt, *(row[attempt] for row in rows))
    return await asyncio.to_thread(writer.close, table, file)
