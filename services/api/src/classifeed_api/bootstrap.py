"""Joins the pieces of the api."""

from __future__ import annotations

import asyncio

from classifeed_api.app.check_format import CheckFormat
from classifeed_api.app.clean_up import api_clean_up
from classifeed_api.app.create_feed import CreateFeed
from classifeed_api.app.create_tasks import CreateTasks
from classifeed_api.app.delete_feed import DeleteFeed
from classifeed_api.app.explain_offer import ExplainOffer
from classifeed_api.app.join_loads import JoinLoads
from classifeed_api.app.keep_credentials import KeepCredentials
from classifeed_api.app.limit_uploads import UploadSlots
from classifeed_api.app.push_sources import PushSources
from classifeed_api.app.read_feeds import ReadFeeds
from classifeed_api.app.run_feed import RunFeed
from classifeed_api.app.store_upload import StoreUpload
from classifeed_api.app.switch_feed import SwitchFeed
from classifeed_api.app.update_feed import UpdateFeed
from classifeed_api.app.verify_sources import SourceVerifier
from classifeed_api.app.verify_tasks import TaskVerifier
from classifeed_api.clients.loader import LoaderClient
from classifeed_api.clients.loads import LoadsClient
from classifeed_api.clients.offers import OffersClient
from classifeed_api.clients.processor import ProcessorClient
from classifeed_api.clients.searcher import SearcherClient
from classifeed_api.domain.feed_settings import Limits
from classifeed_api.rpc.feed_service import feed_servicer
from classifeed_api.rpc.methods import FeedCases, Parts
from classifeed_api.settings import ApiSettings
from classifeed_api.store import feeds, task_line
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.blobs import BlobRefs, BlobSweeper
from classifeed_common.db import Database
from classifeed_common.ids import process_holder
from classifeed_common.lease import Leases
from classifeed_common.publish_mark import MarkPusher
from classifeed_common.runner import Role, ServiceRunner
from classifeed_common.runner.command import version_of
from classifeed_common.runner.parts import blobs_of, channel_to, check_table, database_of
from classifeed_common.spool import sweep_spool
from classifeed_domain.policy import POLICY
from classifeed_jobs.service import ServiceJobs

_SERVICE = "api"


def build(settings: ApiSettings) -> ServiceRunner:
    """Return the api, ready to run."""
    db = database_of(settings)
    blobs = blobs_of(settings)
    to_processor = channel_to("processor", settings.processor_address, settings)
    to_loader = channel_to("loader", settings.loader_address, settings)
    to_offers = channel_to("offers", settings.offers_address, settings)
    to_searcher = channel_to("searcher", settings.searcher_address, settings)
    processor = ProcessorClient(to_processor)
    loader = LoaderClient(to_loader, states_timeout_s=settings.states_timeout_s)
    join_loads = JoinLoads(processor)
    leases = Leases(db, process_holder(_SERVICE), settings.lease_ttl_s)
    tasks = MarkPusher(
        db,
        name="uploads",
        select_due=task_line.SQL["select_due"],
        advance=task_line.SQL["advance_published"],
        push=CreateTasks(db, processor),
        leases=leases,
        batch=50,
    )
    sources = MarkPusher(
        db,
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
        db,
        {},
        clean_up=clean_up,
        time_zone=settings.time_zone,
        max_open_per_caller=settings.jobs_max_open_per_caller,
    )
    verifier = SourceVerifier(db, loader, on_lost=sources.wake, interval_s=settings.verify_interval_s)
    task_verifier = TaskVerifier(db, processor, on_lost=tasks.wake, interval_s=settings.verify_interval_s)
    parts = Parts(
        settings=settings,
        db=db,
        store_upload=StoreUpload(db, blobs, refs, on_stored=tasks.wake),
        upload_slots=UploadSlots(
            settings.upload_streams, settings.upload_streams_per_seller, spared_s=settings.upload_spared_s
        ),
        feeds=_feed_cases(settings, db, processor, loader, join_loads, sources, tasks),
        explain_offer=ExplainOffer(
            db,
            LoadsClient(processor.stub, timeout_s=settings.explain_timeout_s),
            loader.stub,
            OffersClient(to_offers),
            SearcherClient(to_searcher),
            timeout_s=settings.explain_timeout_s,
        ),
        join_loads=join_loads,
        tasks=processor.stub,
        sources=loader.stub,
    )

    async def start() -> None:
        await asyncio.to_thread(sweep_spool, settings.spool_dir)
        await db.open()
        await blobs.open()

    async def stop() -> None:
        for channel in (to_searcher, to_offers, to_loader, to_processor):
            await channel.close()
        await blobs.close()
        await db.close()

    async def without_task() -> dict[str, int]:
        async with db.transaction() as tx:
            return {"uploads": await task_line.count(tx)}

    async def unpublished() -> dict[str, int]:
        return {"feeds_unpublished": await sources.backlog()}

    return ServiceRunner(
        settings,
        _SERVICE,
        version_of(_SERVICE),
        roles=[
            Role("publish-uploads", tasks.run, without_task),
            Role("publish-feeds", sources.run, unpublished),
            *jobs.roles({}, drain_grace_s=settings.drain_grace_s / 2),
            Role("verify-feeds", verifier.run, blocked=verifier.blocked),
            Role("verify-tasks", task_verifier.run),
            Role("sweep", BlobSweeper(db, blobs).run),
        ],
        servicers=[feed_servicer(parts), jobs.servicer()],
        readiness={"postgres": check_table(db, "feed"), "s3": blobs.check},
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )


def _feed_cases(
    settings: ApiSettings,
    db: Database,
    processor: ProcessorClient,
    loader: LoaderClient,
    join_loads: JoinLoads,
    sources: MarkPusher,
    tasks: MarkPusher,
) -> FeedCases:
    limits = Limits(settings.min_interval_s, settings.allow_loopback)
    credentials = KeepCredentials(
        CredentialCipher.load(settings.secrets_file) if settings.secrets_file is not None else None
    )
    formats = CheckFormat(processor)
    return FeedCases(
        create=CreateFeed(db, limits, credentials, formats, on_changed=sources.wake),
        read=ReadFeeds(db, loader, join_loads),
        update=UpdateFeed(db, limits, credentials, formats, on_changed=sources.wake),
        switch=SwitchFeed(db, on_changed=sources.wake),
        delete=DeleteFeed(db, processor, on_changed=sources.wake, on_deleted=tasks.wake),
        run=RunFeed(db, loader),
    )
