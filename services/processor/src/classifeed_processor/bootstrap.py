"""The only place where the processor's parts are built and joined."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Final

from classifeed_common.blobs import BlobSweeper
from classifeed_common.kafka import Cluster, DeadLetters, KafkaProducer, OrderedConsumer, dlq, ensure_topics
from classifeed_common.runner import Role, ServiceRunner, Watch
from classifeed_common.runner.blob_parts import blobs_of
from classifeed_common.runner.command import version_of
from classifeed_common.runner.parts import SchemaCheck, database_of
from classifeed_common.spool import sweep_spool
from classifeed_domain.policy import POLICY
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, FEEDS_OFFER_RESULTS, declared
from classifeed_jobs.service import ServiceJobs
from classifeed_processor.app.clean_up import processor_clean_up
from classifeed_processor.app.issues.export_issues import ExportIssues
from classifeed_processor.app.issues.read_issues import ReadIssues
from classifeed_processor.app.issues.schedule_packing import QUEUE as PACK_QUEUE
from classifeed_processor.app.issues.watch_packing import find_failed_packings
from classifeed_processor.app.locate_offer import LocateOffer
from classifeed_processor.app.runs.limit_sellers import SellerWindows
from classifeed_processor.app.runs.send_run import RunParts
from classifeed_processor.app.runs.signal_tasks import TaskSignals
from classifeed_processor.app.tasks.create_task import QUEUE
from classifeed_processor.app.tasks.watch_loads import measure_loads
from classifeed_processor.consumers.results import GROUP, NotifyingPositions, ResultHandler
from classifeed_processor.jobs.feed_process import registry
from classifeed_processor.jobs.pack_records import packing
from classifeed_processor.rpc.task_service import task_servicer
from classifeed_processor.settings import ProcessorSettings
from classifeed_processor.store import reading

SERVICE = "processor"
# Three requests are sent within 3.5 minutes; if only a message was lost, the second one is enough.
_UNHEARD_REQUESTS: Final = 3
# Threads that read files yield to the event loop after this time instead of after 5 ms. Every step of another seller's
# load waits for this time, once for each file being read (ADR 0035).
_SWITCH_S: Final = 0.0005
GROWABLE: Final = {declared(FEEDS_OFFER_RESULTS): (GROUP,)}


async def prepare(settings: ProcessorSettings) -> None:
    """Create the topics that the processor reads and writes. Idempotent."""
    await ensure_topics(settings.kafka_bootstrap, map(declared, (FEEDS_OFFER_REQUESTS, FEEDS_OFFER_RESULTS)))


def build(settings: ProcessorSettings) -> ServiceRunner:
    """Return the processor; no connection is open yet."""
    database = database_of(settings)
    blobs = blobs_of(settings)
    sweeper = BlobSweeper(database, blobs)
    producer = KafkaProducer(settings.kafka_bootstrap, client_id=SERVICE)
    cluster = Cluster(settings.kafka_bootstrap, client_id=SERVICE)
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
    positions = NotifyingPositions(database, handler, signals)
    consumer = OrderedConsumer(
        bootstrap=settings.kafka_bootstrap,
        group=GROUP,
        topics=[FEEDS_OFFER_RESULTS],
        positions=positions,
        handle=handler.handle,
        on_log_lost=positions.skip_lost,  # tasks request missing replies again
        dead_letters=DeadLetters(producer),
        refuses_misplaced=True,
    )
    parts = RunParts(
        blobs=blobs,
        sender=producer,
        jobs=jobs.store,
        signals=signals,
        topic=FEEDS_OFFER_REQUESTS,
        spool_dir=settings.spool_dir,
        windows=SellerWindows(settings.window_batches),
    )
    export_issues = ExportIssues(ReadIssues(database, blobs), settings.spool_dir)
    locate_offer = LocateOffer(database, blobs, settings.spool_dir)

    async def start() -> None:
        sys.setswitchinterval(_SWITCH_S)
        await asyncio.to_thread(sweep_spool, settings.spool_dir)
        await database.open()
        await producer.start()

    async def stop() -> None:
        await producer.close()
        cluster.close()
        await blobs.close()
        await database.close()

    async def check_kafka() -> None:
        await cluster.ends([(FEEDS_OFFER_REQUESTS, 0)])

    async def open_tasks() -> Mapping[str, int]:
        async with database.transaction() as tx:
            return {"tasks": await reading.count_open(tx)}

    async def look_at_tasks() -> Mapping[str, str]:
        async with database.transaction() as tx:
            await measure_loads(tx)
            count, seconds = await reading.count_unheard(tx, _UNHEARD_REQUESTS)
            failed = await find_failed_packings(tx)
        if not count:
            return failed
        words = (
            f"{count} of the loads have been waiting for a reply of offers for up to {seconds:.0f} s, although they "
            f"requested it again: check whether offers reads {FEEDS_OFFER_REQUESTS}, and sends {FEEDS_OFFER_RESULTS}; "
            f"replies that this version cannot read are in {dlq(FEEDS_OFFER_RESULTS)}"
        )
        return {"replies": words, **failed}

    waiting = Watch(look_at_tasks, what="loads that wait")

    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            *jobs.roles(
                {QUEUE: settings.concurrency, PACK_QUEUE: 1},
                resources=parts,
                backlog=open_tasks,
                heartbeat_s=settings.heartbeat_s,
                drain_grace_s=settings.drain_grace_s / 2,  # leaves time to release unfinished jobs
            ),
            Role("sweep", sweeper.run, blocked=sweeper.blocked),
            Role("consume", consumer.run, consumer.backlog, consumer.blocked),
            Role("watch", waiting.run, blocked=waiting.blocked),
        ],
        servicers=[
            task_servicer(database, jobs.store, blobs, export_issues, locate_offer),
            jobs.servicer(),
        ],
        schema=SchemaCheck(database, "classifeed_processor"),
        readiness={"kafka": check_kafka, "s3": blobs.check},
        opens={"s3": blobs.open},
        on_start=start,
        on_stop=stop,
        policy=POLICY,
    )
