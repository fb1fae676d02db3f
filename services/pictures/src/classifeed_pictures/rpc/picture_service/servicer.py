"""Joins the families of PictureService."""

from __future__ import annotations

from classifeed.pictures.v1.picture_service_pb2_grpc import add_PictureServiceServicer_to_server
from classifeed_common.clock import Clock
from classifeed_common.db import Database
from classifeed_common.kafka import KafkaProducer
from classifeed_common.rpc.server import Servicer
from classifeed_jobs import JobStore
from classifeed_pictures.app.files.put_picture import PutPicture
from classifeed_pictures.app.states.find_states import Rules
from classifeed_pictures.clients.backup_bucket import BackupBucket
from classifeed_pictures.rpc.picture_service.backups import BackupMethods
from classifeed_pictures.rpc.picture_service.comparisons import ComparisonMethods
from classifeed_pictures.rpc.picture_service.namespaces import NamespaceMethods
from classifeed_pictures.rpc.picture_service.puts import PutMethods
from classifeed_pictures.rpc.picture_service.requests import RequestMethods
from classifeed_pictures.rpc.picture_service.similar import SimilarMethods
from classifeed_pictures.rpc.picture_service.states import StateMethods


def picture_servicer(
    database: Database,
    producer: KafkaProducer,
    clock: Clock,
    put: PutPicture,
    jobs: JobStore,
    *,
    canonical_rules: Rules,
    backups: BackupBucket,
) -> Servicer:
    """Return the servicer of PictureService."""
    return Servicer.join(
        add_PictureServiceServicer_to_server,
        StateMethods(database, canonical_rules),
        SimilarMethods(database, canonical_rules),
        RequestMethods(producer, clock),
        PutMethods(put),
        ComparisonMethods(database, jobs),
        NamespaceMethods(database),
        BackupMethods(database, jobs, backups),
    )
