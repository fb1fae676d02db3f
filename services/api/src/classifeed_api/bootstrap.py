"""Joins the pieces of the api."""

from __future__ import annotations

from classifeed.feeds.v1.feed_service_pb2_grpc import add_FeedServiceServicer_to_server
from classifeed_api.app.create_tasks import CreateTasks
from classifeed_api.app.store_upload import StoreUpload
from classifeed_api.clients.processor import ProcessorClient
from classifeed_api.rpc.feed_service import FeedService
from classifeed_api.settings import ApiSettings
from classifeed_api.store.uploads import SQL
from classifeed_common.blobs import BlobRefs
from classifeed_common.ids import process_holder
from classifeed_common.lease import Leases
from classifeed_common.publish_mark import MarkPusher
from classifeed_common.runner import Role, Servicer, ServiceRunner
from classifeed_common.runner.command import version_of
from classifeed_common.runner.parts import blobs_of, channel_to, check_table, database_of

_SERVICE = "api"


def build(settings: ApiSettings) -> ServiceRunner:
    """Returns the api, ready to run."""
    db = database_of(settings)
    blobs = blobs_of(settings)
    channel = channel_to("processor", settings.processor_address, settings)
    processor = ProcessorClient(channel)
    pusher = MarkPusher(
        db,
        name="uploads",
        select_due=SQL["select_due"],
        advance=SQL["advance_published"],
        push=CreateTasks(db, processor),
        leases=Leases(db, process_holder(_SERVICE), settings.lease_ttl_s),
        batch=50,
    )
    store_upload = StoreUpload(db, blobs, BlobRefs(), on_stored=pusher.wake)

    async def start() -> None:
        await db.open()
        await blobs.open()

    async def stop() -> None:
        await channel.close()
        await blobs.close()
        await db.close()

    async def due() -> dict[str, int]:
        return {"uploads": await pusher.backlog()}

    return ServiceRunner(
        settings,
        _SERVICE,
        version_of(_SERVICE),
        roles=[Role("uploads", pusher.run, due)],
        servicers=[
            Servicer.of(add_FeedServiceServicer_to_server, FeedService(settings, db, store_upload, processor.stub))
        ],
        readiness={"postgres": check_table(db, "uploads"), "s3": blobs.check},
        on_start=start,
        on_stop=stop,
    )
