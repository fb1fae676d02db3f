"""Composition root of the processor: its topics, roles and servicers."""

from __future__ import annotations

from typing import Final

from classifeed_common.blobs import BlobSweeper
from classifeed_common.kafka import ensure_topics
from classifeed_common.runner import Role, ServiceRunner, Watch, version_of
from classifeed_common.runner.parts import SchemaCheck
from classifeed_domain.policy import POLICY
from classifeed_domain.topics import FEEDS_OFFER_REQUESTS, FEEDS_OFFER_RESULTS, declared
from classifeed_processor.app.issues import schedule_packing
from classifeed_processor.app.tasks.create_task import QUEUE
from classifeed_processor.consumers.results import GROUP
from classifeed_processor.parts import build_parts
from classifeed_processor.settings import ProcessorSettings

SERVICE = "processor"
GROWABLE: Final = {declared(FEEDS_OFFER_RESULTS): (GROUP,)}


async def prepare(settings: ProcessorSettings) -> None:
    """Create the topics that the processor reads and writes. Idempotent."""
    await ensure_topics(settings.kafka_bootstrap, [*GROWABLE, declared(FEEDS_OFFER_REQUESTS)])


def build(settings: ProcessorSettings) -> ServiceRunner:
    """Return the processor; no connection is open yet."""
    parts = build_parts(settings)
    database, blobs, jobs, results = parts.database, parts.blobs, parts.jobs, parts.results
    sweeper, watch = BlobSweeper(database, blobs), Watch(parts.watch_loads, what="loads that wait")
    work = jobs.roles(
        {QUEUE: settings.concurrency, schedule_packing.QUEUE: 1},
        resources=parts.runs,
        backlog=parts.count_tasks,
        heartbeat_s=5,  # well below the lease
        drain_grace_s=settings.drain_grace_s / 2,  # leaves time to release unfinished jobs
    )
    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            *work,
            Role("sweep", sweeper.run, blocked=sweeper.blocked),
            Role("consume", results.run, results.backlog, results.blocked),
            Role("watch", watch.run, blocked=watch.blocked),
        ],
        servicers=[parts.task_service, jobs.servicer()],
        schema=SchemaCheck(database, "classifeed_processor"),
        readiness={"kafka": parts.check_kafka, "s3": blobs.check},
        opens={"s3": blobs.open},
        on_start=parts.open,
        on_stop=parts.close,
        policy=POLICY,
    )
