"""Builds and joins the parts of the loader. No other module does so."""

from __future__ import annotations

import asyncio
from typing import Final

from classifeed.feeds.v1.feed_source_service_pb2_grpc import add_FeedSourceServiceServicer_to_server
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.blobs import BlobRefs, BlobSweeper
from classifeed_common.fetch import AddressGuard, FetchLimits
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.host_limits import HostPolicy, OwnerLimits
from classifeed_common.ids import process_holder
from classifeed_common.lease import Leases
from classifeed_common.runner import Role, Servicer, ServiceRunner
from classifeed_common.runner.blob_parts import blobs_of
from classifeed_common.runner.command import version_of
from classifeed_common.runner.listening import StartError, http_keys
from classifeed_common.runner.parts import SchemaCheck, channel_to, check_table, database_of
from classifeed_common.spool import sweep_spool
from classifeed_domain.policy import POLICY
from classifeed_jobs import JobStore, PipelineError, PlacingError, load_pipelines, place_jobs
from classifeed_jobs.api.http import Info
from classifeed_jobs.service import ServiceJobs
from classifeed_loader.app.clean_up import loader_clean_up
from classifeed_loader.app.complete_fetch import FetchWaits
from classifeed_loader.app.fetch_dependencies import FetchDependencies
from classifeed_loader.app.queue_fetches import QUEUE
from classifeed_loader.app.schedule_fetches import FetchScheduler
from classifeed_loader.clients.processor import ProcessorClient
from classifeed_loader.jobs.feed_fetch import fetch_registry
from classifeed_loader.rpc.feed_source_service import FeedSourceService
from classifeed_loader.settings import LoaderSettings

SERVICE = "loader"
# A job that waits for a host occupies a slot, so it waits no longer than another job of this process needs to draw.
_LONGEST_WAIT_FOR_A_PERMIT_S: Final = 0.1
# No permit is lost in a shorter outage of the database.
_LEAST_HOLD_S: Final = 20


async def prepare(settings: LoaderSettings) -> None:
    """Move the job tables to the schema PG_SCHEMA_QUEUE, as the last step of `migrate`.

    Raises:
        StartError: they cannot be moved.
    """
    for queue_schema in settings.further_schemas:
        try:
            await place_jobs(settings.dsn.get_secret_value(), schema=settings.db_schema, queue_schema=queue_schema)
        except PlacingError as error:
            raise StartError(f"PG_SCHEMA_QUEUE={queue_schema}: {error}") from error


def build(settings: LoaderSettings) -> ServiceRunner:
    """Return the loader; nothing is opened yet.

    Raises:
        StartError: a module with pipelines cannot be loaded, or there are no keys to check the service tokens that HTTP
            requires.
    """
    host = settings.hosting
    try:
        pipelines = load_pipelines(host.dl_pipeline_modules)
    except PipelineError as error:
        raise StartError(str(error)) from error
    keys = http_keys(settings, required_by="CLASSIFEED_HTTP_AUTH=on" if host.classifeed_http_auth == "on" else "")
    queues = dict(host.workers_json)
    if "workers_json" not in host.model_fields_set:
        queues[QUEUE] = settings.concurrency
    database = database_of(settings)
    blobs = blobs_of(settings)
    sweeper = BlobSweeper(database, blobs)
    tasks = {**pipelines, **fetch_registry(FetchWaits(settings.min_interval_s, settings.backoff_base_s))}
    fetch_jobs = JobStore(default_lease_ttl_s=settings.jobs_lease_s, tasks=tasks)
    leases = Leases(database, process_holder(SERVICE), settings.lease_ttl_s)
    scheduler = FetchScheduler(database, fetch_jobs, leases, min_interval_s=settings.min_interval_s)
    sources = FeedSourceService(database, fetch_jobs, min_interval_s=settings.min_interval_s, on_change=scheduler.wake)
    channel = channel_to("processor", settings.processor_address, settings)
    permits = OwnerLimits(
        database,
        HostPolicy(
            first_rate=settings.host_first_rate,
            highest_rate=settings.host_highest_rate,
            at_a_time=settings.fetches_per_host,
            max_wait_s=_LONGEST_WAIT_FOR_A_PERMIT_S,
            hold_s=max(settings.jobs_lease_s, _LEAST_HOLD_S),
        ),
    )
    fetcher = Fetcher(
        guard=AddressGuard(allow_loopback=settings.allow_loopback),
        limits=FetchLimits(max_bytes=settings.fetch_max_bytes, total_s=settings.fetch_total_s),
        permits=permits,
        proxy=settings.proxy.get_secret_value() if settings.proxy is not None else None,
    )
    processor, refs = ProcessorClient(channel), BlobRefs()
    jobs = ServiceJobs(
        database,
        tasks,
        clean_up=loader_clean_up(processor, refs),
        lease_s=settings.default_lease_s,
        key_ttl_s=host.key_ttl_s,
        time_zone=settings.time_zone,
        max_open_per_caller=host.dl_max_open_per_caller,
        reaper_period_s=host.dl_reaper_period_sec,
        retention=host.retention,
    )
    dependencies = FetchDependencies(
        downloader=fetcher,
        blobs=blobs,
        refs=refs,
        tasks=processor,
        cipher=CredentialCipher.load(settings.secrets_file) if settings.secrets_file is not None else None,
        spool_dir=settings.spool_dir,
        min_interval_s=settings.min_interval_s,
        backoff_base_s=settings.backoff_base_s,
        history_fetches=settings.history_fetches,
    )

    async def start() -> None:
        await asyncio.to_thread(sweep_spool, settings.spool_dir)
        await database.open()

    async def stop() -> None:
        await channel.close()
        await fetcher.close()
        await permits.close()
        await blobs.close()
        await database.close()

    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            Role("schedule-fetches", scheduler.run, scheduler.backlog, scheduler.blocked),
            *jobs.roles(
                queues,
                resources=dependencies,
                heartbeat_s=settings.beat_s,
                claim_backoff_s=host.dl_claim_backoff_sec,
                drain_grace_s=settings.run_grace_s,
                prefetch=host.dl_prefetch,
            ),
            Role("sweep", sweeper.run, blocked=sweeper.blocked),
        ],
        servicers=[
            Servicer.of(add_FeedSourceServiceServicer_to_server, sources),
            jobs.servicer(),
        ],
        routes=jobs.routes(
            info=Info(service=SERVICE, version=version_of(SERVICE), environment=settings.environment),
            keys=keys,
            policy=POLICY,
        ),
        schema=SchemaCheck(database, "classifeed_loader"),
        readiness={"jobs": check_table(database, "dl_jobs"), "s3": blobs.check},
        opens={"s3": blobs.open},
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )
