"""The gRPC face: JobService for any service that has jobs."""

from classifeed_jobs.api.rpc.job_service import JobService, job_servicer

__all__ = ["JobService", "job_servicer"]
