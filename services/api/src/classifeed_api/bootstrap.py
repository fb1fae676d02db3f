"""Joins the pieces of the api."""

from __future__ import annotations

from importlib.metadata import version

from classifeed.feeds.v1.feed_service_pb2_grpc import add_FeedServiceServicer_to_server
from classifeed_api.app.create_tasks import CreateTasks
from classifeed_api.app.store_upload import StoreUpload
from classifeed_api.clients.processor import ProcessorClient
from classifeed_api.rpc.feed_service import FeedService
from classifeed_api.settings import ApiSettings
from classifeed_api.store.uploads import SQL
from classifeed_common.auth import KeyStore
from classifeed_common.blobs import BlobRefs, BlobStore
from classifeed_common.db import Database
from classifeed_common.ids import process_holder
from classifeed_common.lease import Leases
from classifeed_common.publish_mark import MarkPusher
from classifeed_common.rpc.client import open_channel
from classifeed_common.runner import Role, Servicer, ServiceRunner

_SERVICE = "api"


def build(settings: ApiSettings) -> ServiceRunner:
    """Returns the api, ready to run."""
    keys = KeyStore(settings.keys_dir) if settings.keys_dir else None
    db = Database(
        settings.dsn.get_secret_value(),
        schema=settings.db_schema,
        application_name=_SERVICE,
        max_size=settings.db_pool_max,
    )
    blobs = BlobStore(
        endpoint=settings.s3_endpoint,
        access_key=settings.s3_access_key,
        secret_key=settings.s3_secret_key.get_secret_value(),
        bucket=settings.s3_bucket,
    )
    channel = open_channel(settings.processor_address, caller=_SERVICE, audience="processor", keys=keys)
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

    async def check_database() -> None:
        async with db.connection() as connection:
            await connection.execute("SELECT 1")

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
        version("classifeed-api"),
        roles=[Role("uploads", pusher.run, due)],
        servicers=[
            Servicer.of(add_FeedServiceServicer_to_server, FeedService(settings, db, store_upload, processor.stub))
        ],
        readiness={"postgres": check_database, "s3": blobs.check},
        on_start=start,
        on_stop=stop,
    )
