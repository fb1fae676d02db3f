"""Declares the loader's process: its roles, servicers, routes and readiness."""

from __future__ import annotations

from classifeed.feeds.v1.feed_source_service_pb2_grpc import add_FeedSourceServiceServicer_to_server
from classifeed_common.blobs import BlobSweeper
from classifeed_common.runner import Role, Servicer, ServiceRunner, version_of
from classifeed_common.runner.listening import StartError, http_keys
from classifeed_common.runner.parts import SchemaCheck, check_table
from classifeed_domain.policy import POLICY
from classifeed_jobs import PlacingError, place_jobs
from classifeed_jobs.api.http import Info
from classifeed_loader.parts import build_parts
from classifeed_loader.rpc.feed_source_service import FeedSourceService
from classifeed_loader.settings import LoaderSettings

SERVICE = "loader"


async def prepare(settings: LoaderSettings) -> None:
    """Move the job tables to the schema PG_SCHEMA_QUEUE, as the last step of `migrate`; StartError if that fails."""
    for queue_schema in settings.further_schemas:
        try:
            await place_jobs(settings.dsn.get_secret_value(), schema=settings.db_schema, queue_schema=queue_schema)
        except PlacingError as error:
            raise StartError(f"PG_SCHEMA_QUEUE={queue_schema}: {error}") from error


def build(settings: LoaderSettings) -> ServiceRunner:
    """Return the loader, with nothing opened; StartError if pipelines cannot be loaded or keys for HTTP are missing."""
    parts = build_parts(settings)
    database, scheduler, version = parts.database, parts.scheduler, version_of(SERVICE)
    sweeper = BlobSweeper(database, parts.blobs)
    sources = FeedSourceService(
        database, parts.fetch_jobs, min_interval_s=settings.min_interval_s, on_change=scheduler.wake
    )
    required = "CLASSIFEED_HTTP_AUTH=on" if settings.hosting.classifeed_http_auth == "on" else ""
    return ServiceRunner(
        settings,
        SERVICE,
        version,
        roles=[
            Role("schedule-fetches", scheduler.run, scheduler.backlog, scheduler.blocked),
            *parts.job_roles(),
            Role("sweep", sweeper.run, blocked=sweeper.blocked),
        ],
        servicers=[Servicer.of(add_FeedSourceServiceServicer_to_server, sources), parts.jobs.servicer()],
        routes=parts.jobs.routes(
            info=Info(service=SERVICE, version=version, environment=settings.environment),
            keys=http_keys(settings, required_by=required),
            policy=POLICY,
        ),
        schema=SchemaCheck(database, "classifeed_loader"),
        readiness={"jobs": check_table(database, "dl_jobs"), "s3": parts.blobs.check},
        opens={"s3": parts.blobs.open},
        on_start=parts.open,
        on_stop=parts.close,
        policy=POLICY,
    )
