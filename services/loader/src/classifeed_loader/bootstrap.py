"""The only place where the loader's parts are built and joined."""

from __future__ import annotations

from classifeed.feeds.v1.feed_source_service_pb2_grpc import add_FeedSourceServiceServicer_to_server
from classifeed_common.ids import process_holder
from classifeed_common.lease import Leases
from classifeed_common.runner import Role, Servicer, ServiceRunner
from classifeed_common.runner.command import version_of
from classifeed_common.runner.parts import blobs_of, check_table, database_of
from classifeed_jobs import JobStore, Reaper
from classifeed_loader.app.schedule_fetches import Scheduler
from classifeed_loader.rpc.feed_source_service import FeedSourceService
from classifeed_loader.settings import LoaderSettings

SERVICE = "loader"


def build(settings: LoaderSettings) -> ServiceRunner:
    """Returns the loader, nothing of it opened yet."""
    database = database_of(settings)
    blobs = blobs_of(settings)
    jobs = JobStore(default_lease_ttl_s=settings.jobs_lease_s)
    leases = Leases(database, process_holder(SERVICE), settings.lease_ttl_s)
    scheduler = Scheduler(database, jobs, leases, min_interval_s=settings.min_interval_s)
    reaper = Reaper(database)

    async def open_all() -> None:
        await database.open()
        await blobs.open()

    async def close_all() -> None:
        await blobs.close()
        await database.close()

    return ServiceRunner(
        settings,
        SERVICE,
        version_of(SERVICE),
        roles=[
            Role("schedule", scheduler.run, scheduler.backlog),
            Role("reap", reaper.run),
        ],
        servicers=[
            Servicer.of(
                add_FeedSourceServiceServicer_to_server,
                FeedSourceService(database, jobs, min_interval_s=settings.min_interval_s, on_change=scheduler.wake),
            )
        ],
        readiness={"postgres": check_table(database, "feed_loader_task"), "s3": blobs.check},
        on_start=open_all,
        on_stop=close_all,
    )
