"""Declares the roles, servicers and routes of pictures."""

from __future__ import annotations

from classifeed_common.kafka import ensure_topics
from classifeed_common.runner import ServiceRunner
from classifeed_common.runner.command import version_of
from classifeed_common.runner.parts import SchemaCheck
from classifeed_domain.policy import POLICY
from classifeed_domain.topics import PICTURES_RESULTS, declared
from classifeed_pictures.parts import build_parts
from classifeed_pictures.parts.consumers import GROWABLE, consumer_roles
from classifeed_pictures.parts.jobs import build_jobs, job_roles
from classifeed_pictures.parts.serving import serving_of
from classifeed_pictures.parts.tuning import TUNING, Tuning
from classifeed_pictures.parts.upkeep import upkeep_roles
from classifeed_pictures.settings import PicturesSettings

__all__ = ["GROWABLE", "SERVICE", "build", "prepare"]
SERVICE = "pictures"


async def prepare(settings: PicturesSettings) -> None:
    """Create the topics that this service reads and writes; idempotent."""
    await ensure_topics(settings.kafka_bootstrap, [*GROWABLE, declared(PICTURES_RESULTS)])


def build(settings: PicturesSettings, *, tuning: Tuning = TUNING) -> ServiceRunner:
    """Return the service; nothing is opened yet. Call it inside the event loop."""
    parts = build_parts(settings, tuning)
    jobs = build_jobs(parts)
    servicer, routes = serving_of(parts, jobs.store)
    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            *consumer_roles(parts, jobs.store),
            *upkeep_roles(parts, jobs.store),
            *job_roles(parts, jobs),
        ],
        servicers=[servicer, jobs.servicer()],
        routes=routes,
        schema=SchemaCheck(parts.database, "classifeed_pictures"),
        readiness={"s3": parts.blobs.check},
        opens={"s3": parts.blobs.open, "rules": parts.canonical.open},
        on_start=parts.open,
        on_stop=parts.close,
        policy=POLICY,
    )
