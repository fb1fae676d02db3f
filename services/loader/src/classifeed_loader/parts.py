"""What the loader is made of: its stores, clients and use cases, joined in one place."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import grpc.aio

from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Database
from classifeed_common.fetch import AddressGuard, FetchLimits
from classifeed_common.fetch.fetcher import Fetcher
from classifeed_common.host_limits import HostPolicy, OwnerLimits
from classifeed_common.ids import process_holder
from classifeed_common.lease import Leases
from classifeed_common.runner import Role
from classifeed_common.runner.blob_parts import blobs_of
from classifeed_common.runner.listening import StartError
from classifeed_common.runner.parts import channel_to, database_of
from classifeed_common.spool import sweep_spool
from classifeed_jobs import JobStore, PipelineError, Task, load_pipelines
from classifeed_jobs.service import ServiceJobs
from classifeed_loader.app.clean_up import loader_clean_up
from classifeed_loader.app.complete_fetch import FetchWaits
from classifeed_loader.app.fetch_dependencies import FetchDependencies
from classifeed_loader.app.queue_fetches import QUEUE
from classifeed_loader.app.schedule_fetches import FetchScheduler
from classifeed_loader.clients.processor import ProcessorClient
from classifeed_loader.jobs.feed_fetch import fetch_registry
from classifeed_loader.settings import LoaderSettings

# A job that waits for a host occupies a slot, so it waits no longer than another job of this process needs to draw.
_LONGEST_WAIT_FOR_A_PERMIT_S: Final = 0.1
# No permit is lost in a shorter outage of the database.
_LEAST_HOLD_S: Final = 20


@dataclass(frozen=True, slots=True)
class Parts:
    """What the roles, servicers and routes of the loader share.

    Attributes:
        settings: settings of the process.
        database: database of sources, fetches and jobs.
        blobs: object store for the files.
        channel: channel to the processor.
        permits: limits of requests per host, over all processes.
        fetcher: HTTP client for the links of sellers.
        fetch_jobs: job store for fetches, with their lease.
        scheduler: loop that queues due fetches.
        jobs: roles and APIs of the job engine.
        fetching: resources of a running fetch.
    """

    settings: LoaderSettings
    database: Database
    blobs: BlobStore
    channel: grpc.aio.Channel
    permits: OwnerLimits
    fetcher: Fetcher
    fetch_jobs: JobStore
    scheduler: FetchScheduler
    jobs: ServiceJobs
    fetching: FetchDependencies

    def job_roles(self) -> Sequence[Role]:
        """Return the roles `work`, `reap` and `schedule`."""
        host = self.settings.hosting
        return self.jobs.roles(
            queues_of(self.settings),
            resources=self.fetching,
            heartbeat_s=host.dl_heartbeat_sec,
            claim_backoff_s=host.dl_claim_backoff_sec,
            drain_grace_s=self.settings.run_grace_s,
            prefetch=host.dl_prefetch,
        )

    async def open(self) -> None:
        """Remove files of earlier processes and connect to the database."""
        await asyncio.to_thread(sweep_spool, self.settings.spool_dir)
        await self.database.open()

    async def close(self) -> None:
        """Close everything."""
        await self.channel.close()
        await self.fetcher.close()
        await self.permits.close()
        await self.blobs.close()
        await self.database.close()


def build_parts(settings: LoaderSettings) -> Parts:
    """Return the parts; nothing is opened yet.

    Raises:
        StartError: a module with pipelines cannot be loaded.
    """
    try:
        pipelines = load_pipelines(settings.hosting.dl_pipeline_modules)
    except PipelineError as error:
        raise StartError(str(error)) from error
    database, refs = database_of(settings), BlobRefs()
    blobs, permits = blobs_of(settings), _build_permits(settings, database)
    channel = channel_to("processor", settings.processor_address, settings)
    processor = ProcessorClient(channel)
    tasks = {**pipelines, **fetch_registry(FetchWaits(settings.min_interval_s, settings.backoff_base_s))}
    fetch_jobs = JobStore(default_lease_ttl_s=settings.jobs_lease_s, tasks=tasks)
    leases = Leases(database, process_holder(settings.service_name()), settings.lease_ttl_s)
    fetcher = Fetcher(
        guard=AddressGuard(allow_loopback=settings.allow_loopback),
        limits=FetchLimits(max_bytes=settings.fetch_max_bytes, total_s=settings.fetch_total_s),
        permits=permits,
        proxy=settings.proxy.get_secret_value() if settings.proxy is not None else None,
    )
    return Parts(
        settings=settings,
        database=database,
        blobs=blobs,
        channel=channel,
        permits=permits,
        fetcher=fetcher,
        fetch_jobs=fetch_jobs,
        scheduler=FetchScheduler(database, fetch_jobs, leases, min_interval_s=settings.min_interval_s),
        jobs=_build_jobs(settings, database, tasks, processor, refs),
        fetching=FetchDependencies(
            downloader=fetcher,
            blobs=blobs,
            refs=refs,
            tasks=processor,
            cipher=CredentialCipher.load(settings.secrets_file) if settings.secrets_file is not None else None,
            spool_dir=settings.spool_dir,
            min_interval_s=settings.min_interval_s,
            backoff_base_s=settings.backoff_base_s,
            history_fetches=settings.history_fetches,
        ),
    )


def queues_of(settings: LoaderSettings) -> dict[str, int]:
    """Return the concurrency of each queue: WORKERS_JSON, or its default with `concurrency` for fetches."""
    host = settings.hosting
    is_set = "workers_json" in host.model_fields_set
    return host.workers_json if is_set else {**host.workers_json, QUEUE: settings.concurrency}


def _build_permits(settings: LoaderSettings, database: Database) -> OwnerLimits:
    return OwnerLimits(
        database,
        HostPolicy(
            first_rate=settings.host_first_rate,
            highest_rate=settings.host_highest_rate,
            at_a_time=settings.fetches_per_host,
            max_wait_s=_LONGEST_WAIT_FOR_A_PERMIT_S,
            hold_s=max(settings.jobs_lease_s, _LEAST_HOLD_S),
        ),
    )


def _build_jobs(
    settings: LoaderSettings, database: Database, tasks: Mapping[str, Task], processor: ProcessorClient, refs: BlobRefs
) -> ServiceJobs:
    host = settings.hosting
    return ServiceJobs(
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
