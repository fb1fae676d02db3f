"""The only place where the parts of pictures are built and joined."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Final, TypeAlias

from classifeed_common.blobs import BlobStore
from classifeed_common.clock import SystemClock
from classifeed_common.db import Database, Tx
from classifeed_common.fetch import AddressGuard, Fetcher, FetchLimits
from classifeed_common.host_limits import HostLimits, HostPolicy
from classifeed_common.ids import process_holder
from classifeed_common.kafka import (
    DeadLetters,
    KafkaProducer,
    NotifyingPositions,
    OrderedConsumer,
    Record,
    ensure_topics,
)
from classifeed_common.lease import Leases
from classifeed_common.outbox import Outbox, Relay
from classifeed_common.runner import Role, ServiceRunner, Watch
from classifeed_common.runner.command import version_of
from classifeed_common.runner.listening import http_keys
from classifeed_common.runner.parts import blobs_of, check_table, database_of
from classifeed_common.snapshot import FileSource, Snapshot
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
from classifeed_jobs import Registry
from classifeed_jobs.blobs import blob_upkeep
from classifeed_jobs.service import ServiceJobs
from classifeed_pictures.app.clean_up import pictures_clean_up
from classifeed_pictures.app.download_picture import PictureDownloader
from classifeed_pictures.app.put_picture import PicturePutter
from classifeed_pictures.app.read_picture import PictureReader
from classifeed_pictures.app.report_load import LoadReporter
from classifeed_pictures.app.resize_picture import PictureResizer
from classifeed_pictures.app.store_picture import PictureStorer
from classifeed_pictures.consumers import copies, downloads, events, resharder
from classifeed_pictures.decoding.pool import DecodePool
from classifeed_pictures.domain.canonical import CanonicalRules
from classifeed_pictures.domain.lifecycle import LifecycleRules
from classifeed_pictures.http.pictures import PictureEndpoint
from classifeed_pictures.http.puts import PutEndpoint
from classifeed_pictures.http.routes import picture_routes
from classifeed_pictures.http.states import StateEndpoint
from classifeed_pictures.jobs import download, resize
from classifeed_pictures.jobs.look_again import LookAgainJob
from classifeed_pictures.metrics import OLDEST_REQUEST
from classifeed_pictures.rpc.picture_service import picture_servicer
from classifeed_pictures.rules.loading import PACKAGED, canonical_snapshot
from classifeed_pictures.settings import PicturesSettings
from classifeed_pictures.store.requests import read_oldest_s

SERVICE = "pictures"
Handle: TypeAlias = Callable[[Tx, Sequence[Record]], Awaitable[None]]
_TOPICS: Final = (
    PICTURES_REQUESTS,
    PICTURES_EVENTS,
    PICTURES_DOWNLOADS,
    PICTURES_COPIES,
    PICTURES_LOADS,
    PICTURES_RESULTS,
)
_WATCH_S: Final = 5.0
_PUTS: Final = 32  # that may wait to be decoded beside all downloads
_KEY_TTL_S: Final = 86400.0  # an order is given again after an hour, under another number


async def prepare(settings: PicturesSettings) -> None:
    """Make the topics that this service reads and writes; idempotent."""
    await ensure_topics(settings.kafka_bootstrap, map(declared, _TOPICS))


def build(settings: PicturesSettings) -> ServiceRunner:
    """Return the service, nothing of it opened yet. Call it inside the event loop."""
    clock = SystemClock()
    database = database_of(settings)
    blobs = blobs_of(settings, bucket=settings.bucket)
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=SERVICE)
    letters = DeadLetters(producer)
    outbox = Outbox()
    relay = Relay(database, producer, Leases(database, process_holder(SERVICE), settings.lease_ttl_s), outbox=outbox)
    canonical = canonical_snapshot(FileSource(settings.rules_file) if settings.rules_file is not None else PACKAGED)
    rules = LifecycleRules(timedelta(seconds=settings.order_timeout_s), timedelta(seconds=settings.delete_after_s))

    def canonical_rules() -> CanonicalRules:
        return canonical.current.value

    replica = replica_of(settings)
    hosts = HostLimits(database, host_policy(settings))
    fetcher = fetcher_of(settings, hosts)
    decoder = DecodePool(processes=settings.decoders or None, waiting=settings.downloads + _PUTS)
    store = PictureStorer(database, blobs, clock)
    reporter = LoadReporter(outbox)
    tasks = Registry()
    download.register_download(tasks, PictureDownloader(database, fetcher, decoder, store, clock), reporter)
    resize.register_resize(tasks, PictureResizer(database, blobs, decoder), reporter)
    jobs = jobs_of(settings, database, blobs, outbox, tasks, replica)
    put = PicturePutter(database, outbox, decoder, store, canonical_rules=canonical_rules, rules=rules)
    join = partial(consumer_of, settings, database, outbox, letters)
    sharder = resharder.Resharder(producer, letters, current_rules=canonical_rules)
    sharding = join(resharder.GROUP, resharder.TOPICS, sharder.handle)
    processing = join(events.GROUP, [PICTURES_EVENTS], events.EventHandler(outbox, rules).handle)
    copying = join(copies.GROUP, [PICTURES_COPIES], copies.CopyHandler(outbox, jobs.store).handle)
    downloading = join(downloads.GROUP, [PICTURES_DOWNLOADS], downloads.DownloadHandler(jobs.store).handle)

    async def start() -> None:
        await canonical.open()
        await database.open()
        if replica is not None:
            await replica.open()
        await blobs.open()
        await producer.start()
        await decoder.start()

    async def stop() -> None:
        await decoder.stop()
        await fetcher.close()
        await hosts.close()
        await producer.close()
        await blobs.close()
        if replica is not None:
            await replica.close()
        await database.close()
        canonical.close()

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
            Role("relay", relay.run, unsent),
            Role("watch", partial(watch, canonical, database), blocked=canonical.blocked),
            *jobs.roles(
                {download.QUEUE: settings.downloads, resize.QUEUE: 1}, drain_grace_s=settings.drain_grace_s / 2
            ),
        ],
        servicers=[
            picture_servicer(
                database,
                producer,
                clock,
                put,
                canonical_rules=canonical_rules,
            ),
            jobs.servicer(),
        ],
        routes=picture_routes(
            StateEndpoint(database, canonical_rules),
            PutEndpoint(put),
            PictureEndpoint(PictureReader(database, blobs, settings.cache_bytes)),
            audience=SERVICE,
            keys=http_keys(settings, required_by="CLASSIFEED_HTTP_AUTH=on" if settings.http_auth == "on" else ""),
            policy=POLICY,
        ),
        readiness={"postgres": check_table(database, "pictures"), "s3": blobs.check},
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )


async def watch(canonical: Snapshot[CanonicalRules], database: Database, stop: asyncio.Event) -> None:
    """Watch the rules and the requests until `stop`."""
    async with asyncio.TaskGroup() as group:
        group.create_task(canonical.watch(stop))
        group.create_task(Watch(partial(measure_requests, database), period_s=_WATCH_S).run(stop))


async def measure_requests(database: Database) -> dict[str, str]:
    """Measure how long the oldest request waits; nothing is blocked by it."""
    async with database.transaction() as tx:
        OLDEST_REQUEST.set(await read_oldest_s(tx))
    return {}


def host_policy(settings: PicturesSettings) -> HostPolicy:
    """Return how hosts are treated, by all processes together."""
    return HostPolicy(
        first_rate=settings.host_first_rate,
        highest_rate=settings.host_highest_rate,
        at_a_time=settings.downloads_per_host,
    )


def replica_of(settings: PicturesSettings) -> Database | None:
    """Return where states are sought, if that is another server than the one where they are written."""
    if not settings.replica_dsn.get_secret_value():
        return None
    return database_of(settings.model_copy(update={"dsn": settings.replica_dsn}))


def consumer_of(
    settings: PicturesSettings,
    database: Database,
    outbox: Outbox,
    letters: DeadLetters,
    group: str,
    topics: Sequence[str],
    handle: Handle,
) -> OrderedConsumer[Tx]:
    """Return a consumer whose effects are in the service's tables."""
    positions = NotifyingPositions(database, outbox.wake)
    return OrderedConsumer(
        bootstrap=settings.kafka_bootstrap,
        group=group,
        topics=topics,
        positions=positions,
        handle=handle,
        on_log_lost=positions.skip_lost,  # whoever waits requests again, and orders without a result are given again
        dead_letters=letters,
        max_records=settings.poll_records,
    )


def fetcher_of(settings: PicturesSettings, hosts: HostLimits) -> Fetcher:
    """Return the way to addresses that nobody vouches for."""
    return Fetcher(
        guard=AddressGuard(allow_loopback=settings.allow_loopback),
        limits=FetchLimits(max_bytes=settings.download_max_bytes, total_s=settings.download_total_s, redirects=3),
        permits=hosts,
        proxy=settings.proxy.get_secret_value() if settings.proxy is not None else None,
        user_agent="Classifeed/0.1 (+pictures)",
    )


def jobs_of(
    settings: PicturesSettings,
    database: Database,
    blobs: BlobStore,
    outbox: Outbox,
    tasks: Registry,
    replica: Database | None,
) -> ServiceJobs:
    """Return the jobs of the service: its tasks, and what looks after its tables and files."""
    return ServiceJobs(
        database,
        tasks,
        clean_up=pictures_clean_up(waiting_days=settings.waiting_days),
        upkeep=[LookAgainJob(outbox, settings.look_again_s, replica), *blob_upkeep(SERVICE, database, blobs)],
        lease_s=settings.jobs_lease_s,
        key_ttl_s=_KEY_TTL_S,
        time_zone=settings.time_zone,
        max_open_per_caller=settings.jobs_max_open_per_caller,
    )
