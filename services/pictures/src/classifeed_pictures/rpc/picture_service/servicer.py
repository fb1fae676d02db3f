"""Joins the families of PictureService."""

from __future__ import annotations

from classifeed.pictures.v1.picture_service_pb2_grpc import add_PictureServiceServicer_to_server
from classifeed_common.clock import Clock
from classifeed_common.db import Database
from classifeed_common.kafka import KafkaProducer
from classifeed_common.rpc.server import Servicer
from classifeed_jobs import JobStore
from classifeed_pictures.app.files.put_picture import PicturePutter
from classifeed_pictures.app.states.find_states import Rules
from classifeed_pictures.clients.backup_bucket import BackupBucket
from classifeed_pictures.rpc.picture_service.backups import Backups
from classifeed_pictures.rpc.picture_service.comparisons import Comparisons
from classifeed_pictures.rpc.picture_service.namespaces import Namespaces
from classifeed_pictures.rpc.picture_service.puts import Puts
from classifeed_pictures.rpc.picture_service.requests import Requests
from classifeed_pictures.rpc.picture_service.similar import Similar
from classifeed_pictures.rpc.picture_service.states import States


def picture_servicer(
    database: Database,
    producer: KafkaProducer,
    clock: Clock,
    put: PicturePutter,
    jobs: JobStore,
    *,
    canonical_rules: Rules,
    backups: BackupBucket,
) -> Servicer:
    """Return the servicer of PictureService."""
    return Servicer.join(
        add_PictureServiceServicer_to_server,
        States(database, canonical_rules),
        Similar(database, canonical_rules),
        Requests(producer, clock),
        Puts(put),
        Comparisons(database, jobs),
        Namespaces(database),
        Backups(database, jobs, backups),
    )
