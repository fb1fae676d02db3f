"""The gRPC API: JobService, for every service that has jobs."""

from classifeed_jobs.api.rpc.job_service import job_servicer

__all__ = ["job_servicer"]
