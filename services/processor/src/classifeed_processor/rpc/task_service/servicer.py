"""TaskService, composed from the families of its methods."""

from __future__ import annotations

from classifeed.feeds.v1.task_service_pb2_grpc import add_TaskServiceServicer_to_server
from classifeed_common.blobs import BlobStore
from classifeed_common.db import Database
from classifeed_common.rpc.server import Servicer
from classifeed_jobs import JobStore
from classifeed_processor.app.issues.export_issues import ExportIssues
from classifeed_processor.app.issues.read_issues import ReadIssues
from classifeed_processor.app.locate_offer import LocateOffer
from classifeed_processor.rpc.task_service.formats import FormatMethods
from classifeed_processor.rpc.task_service.offers import OfferMethods
from classifeed_processor.rpc.task_service.tasks import TaskMethods


def task_servicer(
    database: Database, jobs: JobStore, blobs: BlobStore, export_issues: ExportIssues, locate_offer: LocateOffer
) -> Servicer:
    """Return TaskService for the runner of the processor."""
    return Servicer.join(
        add_TaskServiceServicer_to_server,
        TaskMethods(database, jobs, blobs),
        OfferMethods(database, ReadIssues(database, blobs), export_issues, locate_offer),
        FormatMethods(),
    )
