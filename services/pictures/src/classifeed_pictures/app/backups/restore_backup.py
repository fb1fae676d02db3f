"""Restores a backup: checks all of it, then replaces the state and the positions in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import structlog
from google.protobuf.message import DecodeError

from classifeed_common.blobs import BlobRefs, BlobStore, DamagedBlob
from classifeed_common.db import Tx, after_commit
from classifeed_common.kafka import Cluster
from classifeed_common.outbox import Outbox
from classifeed_common.spool import run_folder
from classifeed_jobs import Fail, JobContext, Progress
from classifeed_pictures.app.backups.place_groups import Places, Reader, place_groups
from classifeed_pictures.app.backups.refetch_damaged import fetch_again, refetch_damaged
from classifeed_pictures.clients.backup_bucket import BackupBucket
from classifeed_pictures.clients.backup_rows import Rows, check_file, read_pages
from classifeed_pictures.domain.backups import BackupFault, Manifest
from classifeed_pictures.domain.restoring import Held, Renewal
from classifeed_pictures.store.backups import backups
from classifeed_pictures.store.backups.backup_columns import RESULTS, SHARDED, WHOLE, names_of
from classifeed_pictures.store.events.canonical_rules import note_not_rekeyed
from classifeed_pictures.store.states.damaged_rows import note_damaged
from classifeed_pictures.store.states.states import get_now

_FILES: Final = 1000
_STATES, _, _STORED, _ = SHARDED
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RestoreBackup:
    """Restores backups. A run that dies has changed nothing or everything; the next run continues.

    Attributes:
        bucket: bucket with the backups.
        blobs: store of the picture files.
        cluster: Kafka cluster, for the present offsets of the topics.
        outbox: outbox for notices of pictures that must be downloaded again.
        rules_version: returns the version of the rules of canonical URLs.
        spool_dir: folder for the files of the backup.
        replayed: group and topic whose events since the backup are applied again.
        on_events_lost: called with the transaction and the cause if Kafka lacks some of these events.
    """

    bucket: BackupBucket
    blobs: BlobStore
    cluster: Cluster
    outbox: Outbox
    rules_version: Callable[[], str]
    spool_dir: Path
    replayed: Reader
    on_events_lost: Callable[[Tx, str], Awaitable[None]]

    async def __call__(self, ctx: JobContext, name: str) -> AsyncGenerator[Progress, None]:
        """Restore a backup; yield after each checked file and after each step.

        Raises:
            Fail: a file cannot be read or differs from the manifest; nothing was changed.
            Unavailable: the object store or Kafka does not respond; nothing was changed.
            ClaimLost: another run has claimed the job.
        """
        if ctx.checkpoint is None:
            with run_folder(self.spool_dir) as folder:
                try:
                    manifest = await self.bucket.read_manifest(name)
                    if manifest is None:
                        raise BackupFault("it has no manifest, so it is incomplete or was removed")
                    for number, file in enumerate(manifest.files, 1):
                        await self.bucket.fetch(name, file.name, folder / file.name)
                        await asyncio.to_thread(check_file, folder / file.name, file)
                        yield Progress(processed=number, total=len(manifest.files))
                except BackupFault as fault:
                    raise Fail(f"The backup {name} is not restored, and nothing was changed: {fault}") from fault
                places = await place_groups(self.cluster, manifest.stands, replayed=self.replayed)
                damaged = await self._replace(ctx, manifest, folder, places)
            detail = {"lost_events": places.lost, "damaged_states": damaged}
            yield Progress(processed=manifest.rows_of(_STATES) - damaged, detail=detail)
        await self._find_missing(ctx)

    async def _replace(self, ctx: JobContext, manifest: Manifest, folder: Path, places: Places) -> int:
        """Replace the state by the backup; return the number of damaged states, which are left out."""
        async with ctx.guarded_transaction() as tx:
            await backups.empty(tx)
            now = await get_now(tx)
            number = max(int(now.timestamp() * 1_000_000), manifest.highest_attempt + 1)
            renewal = Renewal(number, now, keeps_marks=places.is_whole)
            damaged = await self._load(tx, manifest, folder, renewal)
            await fetch_again(tx, await backups.join_rows(tx), outbox=self.outbox)
            await backups.set_stands(tx, places.exact, places.least)
            await note_not_rekeyed(tx)
            if not places.is_whole:
                await self.on_events_lost(tx, f"the backup {manifest.name}, after which Kafka lacks some events")
            if damaged:
                await self.on_events_lost(tx, f"the backup {manifest.name}, of which {damaged} states are damaged")
            await ctx.save_checkpoint(tx, {"restored": manifest.name})
            after_commit(tx, partial(self._report, manifest, places))
        self.outbox.wake()
        return damaged

    async def _load(self, tx: Tx, manifest: Manifest, folder: Path, renewal: Renewal) -> int:
        damaged = 0
        for file in manifest.files:
            pages = read_pages(folder / file.name, file)
            while page := await asyncio.to_thread(next, pages, None):
                damaged += await _add(tx, file.table, page, renewal)
        return damaged

    def _report(self, manifest: Manifest, places: Places) -> None:
        _log.warning("pictures.backup.restored", backup=manifest.name, states=manifest.rows_of(_STATES))
        if not places.is_whole:
            _log.error(
                "pictures.backup.events_lost",
                backup=manifest.name,
                events=places.lost,
                fix="offers requests its pictures again automatically; request others again",
            )
        if manifest.rules != self.rules_version():
            _log.warning("pictures.backup.rules_differ", backup=manifest.rules, now=self.rules_version())

    async def _find_missing(self, ctx: JobContext) -> None:
        """Have pictures downloaded again whose files were removed since the backup."""
        stored = frozenset(await self.blobs.list_own())
        refs, after = BlobRefs(), ""
        while True:
            async with ctx.guarded_transaction() as tx:
                needed = await refs.list_needed(tx, after=after, limit=_FILES)
                missing = [DamagedBlob(sha256, "missing") for sha256 in needed if sha256 not in stored]
                if missing:
                    await refetch_damaged(tx, missing, outbox=self.outbox)
            if len(needed) < _FILES:
                break
            after = needed[-1]
        self.outbox.wake()


async def _add(tx: Tx, table: str, page: Rows, renewal: Renewal) -> int:
    """Add a page of rows; return the number of damaged rows, which are left out."""
    # Columns that were dropped since the backup are left out; newer columns get their defaults.
    columns = [column for column in names_of(table) if column in page[0]]
    held: list[Held] = []
    count = len(page)
    if table == _STATES:
        states = [state for row in page if (state := _renewed(row, renewal)) is not None]
        page = [row for row, _ in states]
        held = [each for _, found in states for each in found]
    elif table == _STORED:
        page = [renewal.stored(row) for row in page]
    rows = [[row[column] for column in columns] for row in page]
    if table in WHOLE and table != RESULTS:
        await backups.add_missing_rows(tx, table, columns, rows)
    else:
        await backups.add_rows(tx, table, columns, rows)
    if held:
        await backups.add_rows(tx, backups.HELD, backups.HELD_COLUMNS, held)
    return count - len(page)


def _renewed(row: dict[str, Any], renewal: Renewal) -> tuple[dict[str, Any], list[Held]] | None:
    try:
        return renewal.state(row)
    except DecodeError:
        note_damaged("pictures", row["url_hash"].hex(), f"request {row['url'][:200]!r} again, or put it again")
        return None
