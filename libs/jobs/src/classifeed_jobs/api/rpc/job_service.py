"""JobService: the jobs of one service over gRPC."""

from __future__ import annotations

from dataclasses import replace

from classifeed.jobs.v1.job_service_pb2_grpc import add_JobServiceServicer_to_server
from classifeed_common.db import Database
from classifeed_common.rpc.server import Servicer
from classifeed_jobs.admin.admin import MAX_OPEN_PER_CALLER, JobAdmin
from classifeed_jobs.api.rpc.jobs import JobMethods
from classifeed_jobs.api.rpc.queues import QueueMethods
from classifeed_jobs.api.rpc.schedules import ScheduleMethods
from classifeed_jobs.enqueue.store import JobStore


class JobService(JobMethods, QueueMethods, ScheduleMethods):
    """The jobs of a service, its queues and its schedules."""


def job_servicer(database: Database, store: JobStore, *, max_open_per_caller: int = MAX_OPEN_PER_CALLER) -> Servicer:
    """Return JobService for the runner of a service.

    Args:
        database: the service's database.
        store: its job store.
        max_open_per_caller: jobs that one caller may have triggered and that have not ended.
    """
    service = JobService(JobAdmin(database, store, max_open_per_caller=max_open_per_caller))
    return replace(Servicer.of(add_JobServiceServicer_to_server, service), drain=service.drain)
