"""What the api is made of: its stores, clients and use cases, joined in one place."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import grpc.aio

from classifeed_api.app.clean_up import api_clean_up
from classifeed_api.app.peers.create_tasks import CreateTasks
from classifeed_api.app.peers.push_sources import PushSources
from classifeed_api.clients.loader import LoaderClient
from classifeed_api.clients.offers import OffersClient
from classifeed_api.clients.processor import ProcessorClient
from classifeed_api.clients.searcher import SearcherClient
from classifeed_api.settings import ApiSettings
from classifeed_api.store import feeds, task_line
from classifeed_common.auth.encryption import CredentialCipher
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Database
from classifeed_common.ids import process_holder
from classifeed_common.lease import Leases
from classifeed_common.publish_mark import MarkPusher
from classifeed_common.runner.blob_parts import blobs_of
from classifeed_common.runner.parts import channel_to, database_of
from classifeed_common.spool import sweep_spool
from classifeed_jobs.service import ServiceJobs

# A process that was killed delays the creation of tasks for this time.
_LEASE_TTL_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What the roles and servicers of the api share.

    Attributes:
        settings: settings of the process.
        database: database of feeds, uploads and jobs.
        blobs: object store for uploads.
        refs: references that keep uploads in the object store.
        channels: channels of the four clients.
        processor: client of the processor.
        loader: client of the loader.
        offers: client of offers.
        searcher: client of the searcher.
        cipher: cipher of the credentials of feeds; None: there are no keys.
        create_tasks: use case that creates the tasks of uploads and removals.
        tasks: loop that creates them.
        sources: loop that pushes changed feeds to the loader.
        jobs: roles and APIs of the job engine.
    """

    settings: ApiSettings
    database: Database
    blobs: BlobStore
    refs: BlobRefs
    channels: Sequence[grpc.aio.Channel]
    processor: ProcessorClient
    loader: LoaderClient
    offers: OffersClient
    searcher: SearcherClient
    cipher: CredentialCipher | None
    create_tasks: CreateTasks
    tasks: MarkPusher
    sources: MarkPusher
    jobs: ServiceJobs

    async def open(self) -> None:
        """Remove files of earlier processes and connect to the database."""
        await asyncio.to_thread(sweep_spool, self.settings.spool_dir)
        await self.database.open()

    async def close(self) -> None:
        """Close everything."""
        for channel in self.channels:
            await channel.close()
        await self.blobs.close()
        await self.database.close()


def build_parts(settings: ApiSettings) -> Parts:
    """Return the parts; nothing is opened yet."""
    database, refs = database_of(settings), BlobRefs()
    to_processor = channel_to("processor", settings.processor_address, settings)
    to_loader = channel_to("loader", settings.loader_address, settings)
    to_offers = channel_to("offers", settings.offers_address, settings)
    to_searcher = channel_to("searcher", settings.searcher_address, settings)
    processor = ProcessorClient(to_processor)
    loader = LoaderClient(to_loader)
    leases = Leases(database, process_holder(settings.service_name()), _LEASE_TTL_S)
    create_tasks = CreateTasks(database, processor)
    return Parts(
        settings=settings,
        database=database,
        blobs=blobs_of(settings),
        refs=refs,
        channels=(to_searcher, to_offers, to_loader, to_processor),
        processor=processor,
        loader=loader,
        offers=OffersClient(to_offers),
        searcher=SearcherClient(to_searcher),
        cipher=CredentialCipher.load(settings.secrets_file) if settings.secrets_file is not None else None,
        create_tasks=create_tasks,
        tasks=MarkPusher(
            database,
            name="uploads",
            select_due=task_line.SELECT_DUE,
            advance=task_line.ADVANCE_PUBLISHED,
            push=create_tasks,
            leases=leases,
            batch=50,
        ),
        sources=MarkPusher(
            database,
            name="feeds",
            select_due=feeds.SELECT_DUE,
            advance=feeds.ADVANCE_PUBLISHED,
            push=PushSources(loader),
            leases=leases,
        ),
        jobs=ServiceJobs(
            database,
            {},
            clean_up=api_clean_up(
                processor, refs, history_uploads=settings.history_uploads, removed_days=settings.removed_days
            ),
            time_zone=settings.time_zone,
            max_open_per_caller=settings.jobs_max_open_per_caller,
        ),
    )
