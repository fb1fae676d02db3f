"""Make a backup of the state: a snapshot for each shard, and the manifest last."""

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
from classifeed_pictures.store import backups
from classifeed_pictures.store.backup_columns import RESULTS, SHARDED, WHOLE, names_of, schema_of
from classifeed_pictures.store.states import read_now

SHARD_STATES: Final = 20_000
_log = structlog.get_logger(__name__)


@dataclass
class _Parts:
    """What a backup has so far."""

    files: list[BackupFile] = field(default_factory=list)
    stands: list[Stand] = field(default_factory=list)
    shards: int = 0
    highest_attempt: int = 0


@dataclass(frozen=True, slots=True)
class BackupMaker:
    """Makes backups. One that dies is given up; nothing of it counts.

    Attributes:
        database: With the state.
        bucket: Takes the files.
        rules_version: Returns the version of the rules of canonical URLs.
        spool_dir: For the files of one shard at a time.
        kept: How many complete backups stay.
        shard_states: States in a shard, at most.
    """

    database: Database
    bucket: BackupBucket
    rules_version: Callable[[], str]
    spool_dir: Path
    kept: int
    shard_states: int = SHARD_STATES

    async def __call__(self) -> AsyncGenerator[int, None]:
        """Make a backup, and remove those that are too many; yields how many states it has so far.

        Raises:
            Unavailable: the object store does not respond; the state is untouched, as is any other backup.
        """
        async with self.database.transaction() as tx:
            name = name_at(await read_now(tx))
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
        """Take a snapshot of the next states; return where the next one begins, None: behind all."""
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
        """Take a snapshot of what belongs to no shard; return its time.

        It comes last: a result that was sent since a shard's snapshot arrives, and one that was not is in here.
        """
        taken: list[BackupFile] = []
        async with self.database.transaction() as tx:
            parts.stands += await backups.begin_snapshot(tx)
            for table in WHOLE:
                bounds = {"topic": PICTURES_RESULTS} if table == RESULTS else {}
                taken.append(await _write(tx, folder, table, f"{table}.parquet", table, bounds))
            ended_at = await read_now(tx)
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
    """Write rows into a file, page by page: the transaction is never idle for longer than a page takes."""
    writer = await asyncio.to_thread(RowWriter, folder / file, schema_of(table))
    attempt = names_of(table).index("attempt") if watch is not None else 0
    async for rows in backups.read_rows(tx, table, part, parameters, page=PAGE_ROWS):
        await asyncio.to_thread(writer.write, rows)
        if watch is not None:
            watch.highest_attempt = max(watch.highest_attempt, *(row[attempt] for row in rows))
    return await asyncio.to_thread(writer.close, table, file)
