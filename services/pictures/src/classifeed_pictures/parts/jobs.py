"""The jobs of pictures: tasks, upkeep of tables and files, and the roles that run them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from classifeed_common.clock import SystemClock
from classifeed_common.db import Tx
from classifeed_common.kafka import Cluster
from classifeed_common.runner import Role
from classifeed_domain.topics import PICTURES_EVENTS, declared
from classifeed_jobs import Registry, Upkeep
from classifeed_jobs.blobs import blob_upkeep
from classifeed_jobs.service import ServiceJobs
from classifeed_pictures.app.backups.make_backup import MakeBackup
from classifeed_pictures.app.backups.measure_backups import needed_grace_s
from classifeed_pictures.app.backups.refetch_damaged import refetch_damaged
from classifeed_pictures.app.backups.restore_backup import RestoreBackup
from classifeed_pictures.app.clean_up import pictures_clean_up
from classifeed_pictures.app.events.make_events import EventMaker
from classifeed_pictures.app.events.report_load import ReportLoad
from classifeed_pictures.app.events.take_event_file import TakeEventFile
from classifeed_pictures.app.files.check_robots import CheckRobots
from classifeed_pictures.app.files.download_picture import DownloadPicture
from classifeed_pictures.app.files.resize_picture import ResizePicture
from classifeed_pictures.app.states.close_event_gaps import CloseEventGaps
from classifeed_pictures.app.states.compare_pictures import ComparePictures
from classifeed_pictures.clients.offers import OffersClient
from classifeed_pictures.consumers import events
from classifeed_pictures.jobs import backup, download, event_files, resize
from classifeed_pictures.jobs.backup import BackupJob
from classifeed_pictures.jobs.check_stored import CheckStoredJob
from classifeed_pictures.jobs.close_event_gaps import CloseEventGapsJob, open_gap
from classifeed_pictures.jobs.compare import CompareJob
from classifeed_pictures.jobs.fill_similarity_keys import FillSimilarityKeysJob
from classifeed_pictures.jobs.look_again import LookAgainJob
from classifeed_pictures.jobs.rekey import RekeyJob
from classifeed_pictures.parts.parts import Parts

_KEY_TTL_S: Final = 86400.0  # an order is repeated after an hour, with another number
_EVENT_FILE_MAX_BYTES: Final = 1 << 30
_NoteGap: TypeAlias = Callable[[Tx, str], Awaitable[None]]


def build_jobs(parts: Parts) -> ServiceJobs:
    """Return the jobs of the service."""
    settings = parts.settings

    async def note_gap(tx: Tx, cause: str) -> None:
        await open_gap(tx, cause, store=jobs.store)

    jobs = ServiceJobs(
        parts.database,
        _tasks_of(parts, note_gap),
        clean_up=pictures_clean_up(
            waiting_days=settings.waiting_days, bucket=parts.events, event_files_days=settings.event_files_days
        ),
        upkeep=_upkeep_of(parts),
        own_schedules=[event_files.event_files_schedule(parts.tuning.event_files_s)],
        lease_s=settings.jobs_lease_s,
        key_ttl_s=_KEY_TTL_S,
        time_zone=settings.time_zone,
        max_open_per_caller=settings.jobs_max_open_per_caller,
    )
    return jobs


def job_roles(parts: Parts, jobs: ServiceJobs) -> Sequence[Role]:
    """Return the roles of the job engine."""
    queues = {
        download.QUEUE: parts.settings.downloads,
        resize.QUEUE: 1,
        event_files.LIST_QUEUE: 1,
        event_files.TAKE_QUEUE: 1,
        backup.RESTORE: 1,
    }
    return jobs.roles(queues, drain_grace_s=parts.settings.drain_grace_s / 2)


def _tasks_of(parts: Parts, note_gap: _NoteGap) -> Registry:
    settings = parts.settings
    tasks = Registry()
    reporter = ReportLoad(parts.outbox)
    robots = CheckRobots(parts.database, parts.fetcher, settings.spool_dir) if settings.obey_robots else None
    downloader = DownloadPicture(
        parts.database,
        parts.fetcher,
        parts.decoder,
        parts.store,
        SystemClock(),
        spool_dir=settings.spool_dir,
        check_robots=robots,
    )
    download.register_download(tasks, downloader, reporter)
    resize.register_resize(tasks, ResizePicture(parts.database, parts.blobs, parts.decoder), reporter)

    def make_events() -> EventMaker:
        return EventMaker(parts.canonical_rules(), declared(PICTURES_EVENTS).partitions)

    taker = TakeEventFile(
        parts.events,
        parts.producer,
        make_events=make_events,
        spool_dir=settings.spool_dir,
        limit_bytes=_EVENT_FILE_MAX_BYTES,
    )
    event_files.register_event_files(tasks, parts.events, taker)
    restorer = RestoreBackup(
        parts.backups,
        parts.blobs,
        Cluster(settings.kafka_bootstrap, client_id=settings.service_name()),
        parts.outbox,
        parts.rules_version,
        settings.spool_dir,
        replayed=(events.GROUP, PICTURES_EVENTS),
        on_events_lost=note_gap,
    )
    backup.register_restore(tasks, restorer)
    return tasks


def _upkeep_of(parts: Parts) -> Sequence[Upkeep]:
    settings = parts.settings
    offers = OffersClient(parts.offers)
    comparer = ComparePictures(
        offers,
        parts.outbox,
        parts.canonical_rules,
        held_share=parts.tuning.held_share,
        held_least=parts.tuning.held_least,
    )
    maker = MakeBackup(parts.database, parts.backups, parts.rules_version, settings.spool_dir, settings.backups_kept)
    return [
        LookAgainJob(parts.outbox, settings.look_again_s, parts.replica),
        CompareJob(comparer, settings.compare_s),
        CloseEventGapsJob(CloseEventGaps(parts.database, offers)),
        RekeyJob(
            parts.outbox,
            parts.canonical_rules,
            parts.tuning.rekey_s,
            settle_s=parts.tuning.rekey_settle_s,
            order_timeout_s=parts.rules.order_timeout.total_seconds(),
        ),
        BackupJob(maker, settings.backup_s),
        CheckStoredJob(),
        FillSimilarityKeysJob(),
        *blob_upkeep(
            settings.service_name(),
            parts.database,
            parts.blobs,
            grace_s=partial(needed_grace_s, parts.backups),
            on_damaged=partial(refetch_damaged, outbox=parts.outbox),
        ),
    ]
