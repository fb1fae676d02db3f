"""Joins the parts of pictures. No other module does so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Final, TypeAlias

from classifeed_common.clock import SystemClock
from classifeed_common.db import Tx
from classifeed_common.ids import process_holder
from classifeed_common.kafka import Cluster, LogLost, NotifyingPositions, OrderedConsumer, Record, ensure_topics
from classifeed_common.lease import Leases
from classifeed_common.outbox import Relay
from classifeed_common.pacing.repeating import RepeatedWork
from classifeed_common.runner import Role, ServiceRunner, Watch
from classifeed_common.runner.command import version_of
from classifeed_common.runner.listening import http_keys
from classifeed_common.runner.parts import SchemaCheck
from classifeed_domain.policy import POLICY
from classifeed_domain.topics import (
    PICTURES_COPIES,
    PICTURES_DOWNLOADS,
    PICTURES_EVENTS,
    PICTURES_LOADS,
    PICTURES_REQUESTS,
    PICTURES_RESULTS,
    declared,
)
from classifeed_jobs import JobStore, Registry
from classifeed_jobs.blobs import blob_upkeep
from classifeed_jobs.service import ServiceJobs
from classifeed_pictures.app.backups.make_backup import BackupMaker
from classifeed_pictures.app.backups.measure_backups import BackupMeter, needed_grace_s
from classifeed_pictures.app.backups.refetch_damaged import refetch_damaged
from classifeed_pictures.app.backups.restore_backup import BackupRestorer
from classifeed_pictures.app.clean_up import pictures_clean_up
from classifeed_pictures.app.events.make_events import EventMaker
from classifeed_pictures.app.events.report_load import LoadReporter
from classifeed_pictures.app.events.take_event_file import EventFileTaker
from classifeed_pictures.app.files.check_robots import RobotsChecker
from classifeed_pictures.app.files.download_picture import PictureDownloader
from classifeed_pictures.app.files.put_picture import PicturePutter
from classifeed_pictures.app.files.read_picture import PictureReader
from classifeed_pictures.app.files.resize_picture import PictureResizer
from classifeed_pictures.app.files.store_picture import PictureStorer
from classifeed_pictures.app.restores.check_states import OrderRepeater, StateChecker, refetch_unstored
from classifeed_pictures.app.restores.find_restored import RestoreNoticer
from classifeed_pictures.app.states.close_event_gaps import EventGapCloser
from classifeed_pictures.app.states.compare_pictures import PictureComparer
from classifeed_pictures.app.states.measure_tables import TableMeter
from classifeed_pictures.base import Base
from classifeed_pictures.clients.offers import OffersClient
from classifeed_pictures.clients.original_spool import OriginalSpool
from classifeed_pictures.consumers import copies, downloads, events, resharder
from classifeed_pictures.domain.lifecycle.lifecycle_rules import LifecycleRules
from classifeed_pictures.domain.marked_tables import JOBS, STORED
from classifeed_pictures.http.pictures import PictureEndpoint
from classifeed_pictures.http.puts import PutEndpoint
from classifeed_pictures.http.routes import picture_routes
from classifeed_pictures.http.states import StateEndpoint
from classifeed_pictures.jobs import backup, download, event_files, resize
from classifeed_pictures.jobs.backup import BackupJob
from classifeed_pictures.jobs.check_stored import CheckStoredJob
from classifeed_pictures.jobs.close_event_gaps import CloseEventGapsJob, enqueue_closing, open_gap
from classifeed_pictures.jobs.compare import CompareJob
from classifeed_pictures.jobs.fill_similarity_keys import FillSimilarityKeysJob
from classifeed_pictures.jobs.look_again import LookAgainJob
from classifeed_pictures.jobs.rekey import RekeyJob
from classifeed_pictures.rpc.picture_service import picture_servicer
from classifeed_pictures.settings import PicturesSettings

SERVICE = "pictures"
Handle: TypeAlias = Callable[[Tx, Sequence[Record]], Awaitable[None]]
NoteGap: TypeAlias = Callable[[Tx, str], Awaitable[None]]
_TOPICS: Final = (
    PICTURES_REQUESTS,
    PICTURES_EVENTS,
    PICTURES_DOWNLOADS,
    PICTURES_COPIES,
    PICTURES_LOADS,
    PICTURES_RESULTS,
)
GROWABLE: Final = {
    declared(PICTURES_REQUESTS): (resharder.GROUP,),
    declared(PICTURES_LOADS): (resharder.GROUP,),
    declared(PICTURES_EVENTS): (events.GROUP,),
    declared(PICTURES_DOWNLOADS): (downloads.GROUP,),
    declared(PICTURES_COPIES): (copies.GROUP,),
}
_WATCH_S: Final = 5.0
_GAPS_S: Final = 60.0
# Each event has one picture, and a transaction with one event costs nearly as much as one with fifty.
_GATHER_S: Final = 0.25
_KEY_TTL_S: Final = 86400.0  # an order is repeated after an hour, with another number


async def prepare(settings: PicturesSettings) -> None:
    """Create the topics that this service reads and writes; idempotent."""
    await ensure_topics(settings.kafka_bootstrap, map(declared, _TOPICS))


def build(settings: PicturesSettings) -> ServiceRunner:
    """Return the service; nothing is opened yet. Call it inside the event loop."""
    clock = SystemClock()
    base = Base.of(settings, client_id=SERVICE)
    database, outbox = base.database, base.outbox
    relay = Relay(
        database, base.producer, Leases(database, process_holder(SERVICE), settings.lease_ttl_s), outbox=outbox
    )
    rules = lifecycle_rules(settings)
    store = PictureStorer(database, base.blobs, clock)
    robots = RobotsChecker(database, base.fetcher, settings.spool_dir) if settings.obey_robots else None
    downloader = PictureDownloader(
        database, base.fetcher, base.decoder, store, clock, spool_dir=settings.spool_dir, check_robots=robots
    )

    async def note_gap(tx: Tx, cause: str) -> None:
        await open_gap(tx, cause, store=jobs.store)

    jobs = jobs_of(base, tasks_of(base, downloader, note_gap))
    put = PicturePutter(database, outbox, base.decoder, store, canonical_rules=base.canonical_rules, rules=rules)
    sharder = resharder.Resharder(base.producer, base.letters, current_rules=base.canonical_rules)
    sharding = consumer_of(base, resharder.GROUP, resharder.TOPICS, sharder.handle, note_gap)
    processing = consumer_of(base, events.GROUP, [PICTURES_EVENTS], events.EventHandler(outbox, rules).handle, note_gap)
    copying = consumer_of(
        base, copies.GROUP, [PICTURES_COPIES], copies.CopyHandler(outbox, jobs.store).handle, note_gap
    )
    download_handler = downloads.DownloadHandler(jobs.store, settings.downloads_per_host)
    downloading = consumer_of(base, downloads.GROUP, [PICTURES_DOWNLOADS], download_handler.handle, note_gap)

    async def unsent() -> dict[str, int]:
        return {"messages": await relay.backlog()}

    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            Role("consume-requests", sharding.run, sharding.backlog, sharding.blocked),
            Role("consume-events", processing.run, processing.backlog, processing.blocked),
            Role("consume-copies", copying.run, copying.backlog, copying.blocked),
            Role("consume-downloads", downloading.run, downloading.backlog, downloading.blocked),
            Role("relay", relay.run, unsent, relay.blocked),
            # Each process makes keys, or receives URLs.
            Role("watch-rules", base.canonical.run, blocked=base.canonical.blocked, is_everywhere=True),
            # Each process that decodes has its own decoders.
            Role(
                "watch-decoders",
                base.decoder.children.run,
                blocked=base.decoder.children.blocked,
                is_everywhere=True,
            ),
            watch_role(base, jobs.store, note_gap),
            *jobs.roles(
                {
                    download.QUEUE: settings.downloads,
                    resize.QUEUE: 1,
                    event_files.LIST_QUEUE: 1,
                    event_files.TAKE_QUEUE: 1,
                    backup.RESTORE: 1,
                },
                drain_grace_s=settings.drain_grace_s / 2,
            ),
        ],
        servicers=[
            picture_servicer(
                database,
                base.producer,
                clock,
                put,
                jobs.store,
                canonical_rules=base.canonical_rules,
                backups=base.backups,
            ),
            jobs.servicer(),
        ],
        routes=picture_routes(
            StateEndpoint(database, base.canonical_rules),
            PutEndpoint(put),
            PictureEndpoint(
                PictureReader(database, base.blobs, OriginalSpool(base.blobs, settings.spool_dir), settings.cache_bytes)
            ),
            audience=SERVICE,
            keys=http_keys(settings, required_by="CLASSIFEED_HTTP_AUTH=on" if settings.http_auth == "on" else ""),
            policy=POLICY,
        ),
        schema=SchemaCheck(database, "classifeed_pictures"),
        readiness={"s3": base.blobs.check},
        opens={"s3": base.blobs.open, "rules": base.canonical.open},
        on_start=base.start,
        on_stop=base.stop,
        policy=POLICY,
    )


def lifecycle_rules(settings: PicturesSettings) -> LifecycleRules:
    """Return the times of the lifecycle of a picture."""
    return LifecycleRules(
        order_timeout=timedelta(seconds=settings.order_timeout_s),
        delete_after=timedelta(seconds=settings.delete_after_s),
        refresh_after=timedelta(days=settings.refresh_days) if settings.refresh_days else None,
    )


def watch_role(base: Base, store: JobStore, note_gap: NoteGap) -> Role:
    """Return the role that closes gaps in the events, and watches the tables and the age of backups.

    It also repairs tables that were restored without the others.
    """
    return Role.together(
        "watch",
        RepeatedWork(
            partial(enqueue_closing, base.database, store),
            period_s=_GAPS_S,
            name="gaps",
            doing="closing gaps in the events",
            effect="Pictures whose events were lost are not requested again",
        ),
        Watch(RestoreNoticer(base.database, events.GROUP, store, note_gap), what="marks of tables", period_s=_WATCH_S),
        RepeatedWork(
            StateChecker(base.database, base.outbox, STORED, refetch_unstored),
            period_s=_WATCH_S,
            name="held",
            doing="comparing states with stored pictures",
            effect="Pictures that were lost by a restore are not downloaded again",
        ),
        RepeatedWork(
            StateChecker(base.database, base.outbox, JOBS, OrderRepeater(store)),
            period_s=_WATCH_S,
            name="orders",
            doing="comparing orders with jobs",
            effect="Orders whose jobs were lost by a restore are not repeated",
        ),
        Watch(TableMeter(base.database, base.hosts), what="sizes of tables", period_s=_WATCH_S),
        Watch(BackupMeter(base.backups), what="backups", period_s=_WATCH_S),
    )


def consumer_of(
    base: Base, group: str, topics: Sequence[str], handle: Handle, note_gap: NoteGap
) -> OrderedConsumer[Tx]:
    """Return a consumer that stores its positions and effects in the service's tables."""
    positions = NotifyingPositions(base.database, base.outbox.wake)

    async def skip_lost(lost: LogLost) -> None:
        await positions.skip_lost(lost, with_effect=lambda tx: note_gap(tx, f"records that {group} had not read"))

    return OrderedConsumer(
        bootstrap=base.settings.kafka_bootstrap,
        group=group,
        topics=topics,
        positions=positions,
        handle=handle,
        on_log_lost=skip_lost,  # clients request again, and orders without a result are repeated
        dead_letters=base.letters,
        max_records=base.settings.poll_records,
        gather_s=_GATHER_S,
        session_timeout_s=base.settings.kafka_session_s,
    )


def tasks_of(base: Base, downloader: PictureDownloader, note_gap: NoteGap) -> Registry:
    """Return the tasks of the service's worker."""
    tasks = Registry()
    reporter = LoadReporter(base.outbox)
    download.register_download(tasks, downloader, reporter)
    resize.register_resize(tasks, PictureResizer(base.database, base.blobs, base.decoder), reporter)

    def make_events() -> EventMaker:
        return EventMaker(base.canonical_rules(), declared(PICTURES_EVENTS).partitions)

    taker = EventFileTaker(
        base.events,
        base.producer,
        make_events=make_events,
        spool_dir=base.settings.spool_dir,
        limit_bytes=base.settings.event_file_max_bytes,
    )
    event_files.register_event_files(tasks, base.events, taker)
    backup.register_restore(tasks, restorer_of(base, note_gap))
    return tasks


def backup_maker_of(base: Base) -> BackupMaker:
    """Return the maker of backups."""
    return BackupMaker(
        base.database, base.backups, base.rules_version, base.settings.spool_dir, base.settings.backups_kept
    )


def restorer_of(base: Base, note_gap: NoteGap) -> BackupRestorer:
    """Return the restorer of backups."""
    return BackupRestorer(
        base.backups,
        base.blobs,
        Cluster(base.settings.kafka_bootstrap, client_id=SERVICE),
        base.outbox,
        base.rules_version,
        base.settings.spool_dir,
        replayed=(events.GROUP, PICTURES_EVENTS),
        on_events_lost=note_gap,
    )


def comparer_of(base: Base) -> PictureComparer:
    """Return the comparer that finds pictures that no offer uses."""
    return PictureComparer(
        OffersClient(base.offers),
        base.outbox,
        base.canonical_rules,
        held_share=base.settings.held_share_percent / 100,
        held_least=base.settings.held_least,
    )


def jobs_of(base: Base, tasks: Registry) -> ServiceJobs:
    """Return the jobs of the service: its tasks, and the upkeep of its tables and files."""
    settings = base.settings
    return ServiceJobs(
        base.database,
        tasks,
        clean_up=pictures_clean_up(
            waiting_days=settings.waiting_days, bucket=base.events, event_files_days=settings.event_files_days
        ),
        upkeep=[
            LookAgainJob(base.outbox, settings.look_again_s, base.replica),
            CompareJob(comparer_of(base), settings.compare_s),
            CloseEventGapsJob(EventGapCloser(base.database, OffersClient(base.offers))),
            RekeyJob(
                base.outbox,
                base.canonical_rules,
                settings.rekey_s,
                settle_s=settings.rekey_settle_s,
                order_timeout_s=settings.order_timeout_s,
            ),
            BackupJob(backup_maker_of(base), settings.backup_s),
            CheckStoredJob(),
            FillSimilarityKeysJob(),
            *blob_upkeep(
                SERVICE,
                base.database,
                base.blobs,
                grace_s=partial(needed_grace_s, base.backups),
                on_damaged=partial(refetch_damaged, outbox=base.outbox),
            ),
        ],
        own_schedules=[event_files.event_files_schedule(settings.event_files_s)],
        lease_s=settings.jobs_lease_s,
        key_ttl_s=_KEY_TTL_S,
        time_zone=settings.time_zone,
        max_open_per_caller=settings.jobs_max_open_per_caller,
    )
