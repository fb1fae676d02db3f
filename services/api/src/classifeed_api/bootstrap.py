"""Builds and joins the parts of the api. No other module does so."""

from __future__ import annotations

import asyncio
from functools import partial

from classifeed.feeds.v1.feed_service_pb2_grpc import add_FeedServiceServicer_to_server
from classifeed_api.app.clean_up import api_clean_up
from classifeed_api.app.explain_offer import ExplainOffer
from classifeed_api.app.feeds.check_credentials import check_credentials
from classifeed_api.app.feeds.check_format import CheckFormat
from classifeed_api.app.feeds.create_feed import CreateFeed
from classifeed_api.app.feeds.delete_feed import DeleteFeed
from classifeed_api.app.feeds.join_loads import JoinLoads
from classifeed_api.app.feeds.keep_credentials import KeepCredentials
from classifeed_api.app.feeds.read_feeds import ReadFeeds
from classifeed_api.app.feeds.run_feed import RunFeed
from classifeed_api.app.feeds.switch_feed import SwitchFeed
from classifeed_api.app.feeds.update_feed import UpdateFeed
from classifeed_api.app.peers.create_tasks import CreateTasks
from classifeed_api.app.peers.push_sources import PushSources
from classifeed_api.app.peers.verify_sources import SourceVerifier
from classifeed_api.app.peers.verify_tasks import TaskVerifier
from classifeed_api.app.uploads.limit_uploads import UploadSlots
from classifeed_api.app.uploads.store_upload import StoreUpload
from classifeed_api.clients.loader import LoaderClient
from classifeed_api.clients.offers import OffersClient
from classifeed_api.clients.processor import ProcessorClient
from classifeed_api.clients.searcher import SearcherClient
from classifeed_api.domain.feed_settings import Limits
from classifeed_api.rpc.feed_service.explanations import ExplanationMethods
from classifeed_api.rpc.feed_service.feeds import FeedMethods
from classifeed_api.rpc.feed_service.fetches import FetchMethods
from classifeed_api.rpc.feed_service.formats import FormatMethods
from classifeed_api.rpc.feed_service.tasks import TaskMethods
from classifeed_api.rpc.feed_service.uploads import UploadMethods
from classifeed_api.settings import ApiSettings
from classifeed_api.store import feeds, task_line
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.blobs import BlobRefs, BlobSweeper
from classifeed_common.db import Database
from classifeed_common.ids import process_holder
from classifeed_common.lease import Leases
from classifeed_common.publish_mark import MarkPusher
from classifeed_common.runner import Role, Servicer, ServiceRunner, Watch
from classifeed_common.runner.blob_parts import blobs_of
from classifeed_common.runner.command import version_of
from classifeed_common.runner.parts import SchemaCheck, channel_to, database_of
from classifeed_common.spool import sweep_spool
from classifeed_domain.policy import POLICY
from classifeed_jobs.service import ServiceJobs

SERVICE = "api"


def build(settings: ApiSettings) -> ServiceRunner:
    """Return the api; nothing is opened yet."""
    database = database_of(settings)
    blobs = blobs_of(settings)
    sweeper = BlobSweeper(database, blobs)
    to_processor = channel_to("processor", settings.processor_address, settings)
    to_loader = channel_to("loader", settings.loader_address, settings)
    to_offers = channel_to("offers", settings.offers_address, settings)
    to_searcher = channel_to("searcher", settings.searcher_address, settings)
    processor = ProcessorClient(to_processor)
    loader = LoaderClient(to_loader, states_timeout_s=settings.states_timeout_s)
    join_loads = JoinLoads(processor)
    leases = Leases(database, process_holder(SERVICE), settings.lease_ttl_s)
    create_tasks = CreateTasks(database, processor)
    tasks = MarkPusher(
        database,
        name="uploads",
        select_due=task_line.SQL["select_due"],
        advance=task_line.SQL["advance_published"],
        push=create_tasks,
        leases=leases,
        batch=50,
    )
    sources = MarkPusher(
        database,
        name="feeds",
        select_due=feeds.SQL["select_due"],
        advance=feeds.SQL["advance_published"],
        push=PushSources(loader),
        leases=leases,
    )
    refs = BlobRefs()
    clean_up = api_clean_up(
        processor, refs, history_uploads=settings.history_uploads, removed_days=settings.removed_days
    )
    jobs = ServiceJobs(
        database,
        {},
        clean_up=clean_up,
        time_zone=settings.time_zone,
        max_open_per_caller=settings.jobs_max_open_per_caller,
    )
    verifier = SourceVerifier(database, loader, on_lost=sources.wake, interval_s=settings.verify_interval_s)
    cipher = CredentialCipher.load(settings.secrets_file) if settings.secrets_file is not None else None
    readable = Watch(partial(check_credentials, database, cipher), what="credentials of feeds")
    task_verifier = TaskVerifier(database, processor, on_lost=tasks.wake, interval_s=settings.verify_interval_s)
    families = (
        UploadMethods(
            database,
            StoreUpload(database, blobs, refs, on_stored=tasks.wake),
            UploadSlots(settings.upload_streams, settings.upload_streams_per_seller, spared_s=settings.upload_spared_s),
            spool_dir=settings.spool_dir,
            limit_bytes=settings.upload_limit_bytes,
            reserve_bytes=settings.spool_reserve_bytes,
            idle_s=settings.upload_idle_s,
        ),
        _feed_methods(settings, database, processor, loader, join_loads, sources, tasks, cipher),
        FetchMethods(loader, join_loads),
        FormatMethods(processor),
        TaskMethods(processor, watch_interval_s=settings.watch_interval_s),
        ExplanationMethods(
            ExplainOffer(
                database,
                processor,
                loader,
                OffersClient(to_offers),
                SearcherClient(to_searcher),
                timeout_s=settings.explain_timeout_s,
            )
        ),
    )

    async def start() -> None:
        await asyncio.to_thread(sweep_spool, settings.spool_dir)
        await database.open()

    async def stop() -> None:
        for channel in (to_searcher, to_offers, to_loader, to_processor):
            await channel.close()
        await blobs.close()
        await database.close()

    def uploads_blocked() -> dict[str, str]:
        return {**tasks.blocked(), **create_tasks.blocked()}

    async def without_task() -> dict[str, int]:
        async with database.transaction() as tx:
            return {"uploads": await task_line.count(tx)}

    async def unpublished() -> dict[str, int]:
        return {"feeds_unpublished": await sources.backlog()}

    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            Role("publish-uploads", tasks.run, without_task, uploads_blocked),
            Role("publish-feeds", sources.run, unpublished, sources.blocked),
            *jobs.roles({}, drain_grace_s=settings.drain_grace_s / 2),
            Role.together("verify-feeds", verifier, readable),
            Role("verify-tasks", task_verifier.run, blocked=task_verifier.blocked),
            Role("sweep", sweeper.run, blocked=sweeper.blocked),
        ],
        servicers=[Servicer.join(add_FeedServiceServicer_to_server, *families), jobs.servicer()],
        schema=SchemaCheck(database, "classifeed_api"),
        readiness={"s3": blobs.check},
        opens={"s3": blobs.open},
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )


def _feed_methods(
    settings: ApiSettings,
    database: Database,
    processor: ProcessorClient,
    loader: LoaderClient,
    join_loads: JoinLoads,
    sources: MarkPusher,
    tasks: MarkPusher,
    cipher: CredentialCipher | None,
) -> FeedMethods:
    limits = Limits(settings.min_interval_s, settings.allow_loopback)
    credentials = KeepCredentials(cipher)
    formats = CheckFormat(processor)
    return FeedMethods(
        create=CreateFeed(database, limits, credentials, formats, on_changed=sources.wake),
        read=ReadFeeds(database, loader, join_loads),
        update=UpdateFeed(database, limits, credentials, formats, on_changed=sources.wake),
        switch=SwitchFeed(database, on_changed=sources.wake),
        delete=DeleteFeed(database, processor, on_changed=sources.wake, on_deleted=tasks.wake),
        run=RunFeed(database, loader),
    )
