"""Parts of the processor: builds pools, producers, consumers and jobs from the settings, and joins them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database, Tx
from classifeed_common.kafka import Cluster, DeadLetters, KafkaProducer, OrderedConsumer
from classifeed_common.runner import Servicer
from classifeed_common.runner.blob_parts import blobs_of
from classifeed_common.runner.parts import database_of
from classifeed_common.spool import sweep_spool
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, FEEDS_OFFER_RESULTS
from classifeed_jobs.service import ServiceJobs
from classifeed_processor.app.clean_up import processor_clean_up
from classifeed_processor.app.issues.export_issues import ExportIssues
from classifeed_processor.app.issues.read_issues import ReadIssues
from classifeed_processor.app.locate_offer import LocateOffer
from classifeed_processor.app.runs.limit_sellers import SellerWindows
from classifeed_processor.app.runs.send_run import RunParts
from classifeed_processor.app.runs.signal_tasks import TaskSignals
from classifeed_processor.app.tasks.watch_loads import watch_loads
from classifeed_processor.consumers.results import GROUP, NotifyingPositions, ResultHandler
from classifeed_processor.jobs.feed_process import registry
from classifeed_processor.jobs.pack_records import packing
from classifeed_processor.rpc.task_service import task_servicer
from classifeed_processor.settings import ProcessorSettings
from classifeed_processor.store import reading

# Threads that read files yield to the event loop after this time instead of after 5 ms. Every step of another seller's
# load waits for this time, once for each file being read (ADR 0035).
_SWITCH_S: Final = 0.0005


@dataclass(frozen=True, slots=True)
class Parts:
    """What the roles and servicers of the processor share.

    Attributes:
        cluster: Client that reads the state of Kafka.
        results: Consumer of the results of offers.
        runs: Dependencies of the runs of tasks.
        task_service: Servicer of TaskService.
    """

    settings: ProcessorSettings
    database: Database
    blobs: BlobStore
    producer: KafkaProducer
    cluster: Cluster
    jobs: ServiceJobs
    results: OrderedConsumer[Tx]
    runs: RunParts
    task_service: Servicer

    async def open(self) -> None:
        """Remove the files that a killed process has left, and open the pool and the producer."""
        sys.setswitchinterval(_SWITCH_S)
        await asyncio.to_thread(sweep_spool, self.settings.spool_dir)
        await self.database.open()
        await self.producer.start()

    async def close(self) -> None:
        """Close everything that is open."""
        await self.producer.close()
        self.cluster.close()
        await self.blobs.close()
        await self.database.close()

    async def check_kafka(self) -> None:
        """Return if Kafka responds and has the topic of requests; raise otherwise."""
        await self.cluster.ends([(FEEDS_OFFER_REQUESTS, 0)])

    async def count_tasks(self) -> Mapping[str, int]:
        """Return the number of open tasks."""
        async with self.database.transaction() as tx:
            return {"tasks": await reading.count_open(tx)}

    async def watch_loads(self) -> Mapping[str, str]:
        """Set the metrics of loads, and return what is wrong with them."""
        async with self.database.transaction() as tx:
            return await watch_loads(tx)


def build_parts(settings: ProcessorSettings) -> Parts:
    """Return the parts; no connection is open yet."""
    database = database_of(settings)
    blobs = blobs_of(settings)
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=settings.service_name())
    jobs = ServiceJobs(
        database,
        {**registry, **packing},
        clean_up=processor_clean_up(history_tasks=settings.history_tasks),
        lease_s=settings.jobs_lease_s,
        time_zone=settings.time_zone,
        max_open_per_caller=settings.jobs_max_open_per_caller,
    )
    signals = TaskSignals()
    handler = ResultHandler(jobs.store)
    export_issues = ExportIssues(ReadIssues(database, blobs), settings.spool_dir)
    locate_offer = LocateOffer(database, blobs, settings.spool_dir)
    positions = NotifyingPositions(database, handler, signals)
    return Parts(
        settings=settings,
        database=database,
        blobs=blobs,
        producer=producer,
        cluster=Cluster(settings.kafka_bootstrap, client_id=settings.service_name()),
        jobs=jobs,
        results=OrderedConsumer(
            bootstrap=settings.kafka_bootstrap,
            group=GROUP,
            topics=[FEEDS_OFFER_RESULTS],
            positions=positions,
            handle=handler.handle,
            on_log_lost=positions.skip_lost,  # tasks request missing replies again
            dead_letters=DeadLetters(producer),
            refuses_misplaced=True,
        ),
        runs=RunParts(
            blobs=blobs,
            sender=producer,
            jobs=jobs.store,
            signals=signals,
            topic=FEEDS_OFFER_REQUESTS,
            spool_dir=settings.spool_dir,
            windows=SellerWindows(),
        ),
        task_service=task_servicer(database, jobs.store, blobs, export_issues, locate_offer),
    )
