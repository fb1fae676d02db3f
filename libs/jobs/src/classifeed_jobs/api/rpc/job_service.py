"""JobService: the jobs of one service over gRPC."""

from __future__ import annotations

from classifeed.jobs.v1.job_service_pb2_grpc import add_JobServiceServicer_to_server
from classifeed_common.rpc.server import Servicer
from classifeed_jobs.admin.admin import JobAdmin
from classifeed_jobs.api.rpc.jobs import JobMethods
from classifeed_jobs.api.rpc.queues import QueueMethods
from classifeed_jobs.api.rpc.schedules import ScheduleMethods


def job_servicer(admin: JobAdmin) -> Servicer:
    """Return the servicer of JobService for a service's jobs, queues and schedules."""
    return Servicer.join(
        add_JobServiceServicer_to_server, JobMethods(admin), QueueMethods(admin), ScheduleMethods(admin)
    )
