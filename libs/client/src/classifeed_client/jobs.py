"""Calls for jobs. Each service with background jobs serves its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from classifeed.jobs.v1 import job_pb2, job_service_pb2, schedule_pb2
from classifeed.jobs.v1.job_service_pb2_grpc import JobServiceStub
from classifeed_client.connection import Caller

JOB_SERVICES: Final = ("loader", "processor", "offers", "api", "moderation", "cleanweb", "pictures")
"""Services that have jobs."""


class JobClient(Caller):
    """Calls the job APIs of one installation; each call names the service. The arguments are those of Caller."""

    def _open_stubs(self) -> None:
        self._stubs: dict[str, Any] = {name: self._stub(name, JobServiceStub) for name in self._channels}

    @property
    def services(self) -> list[str]:
        """The services that can be called."""
        return list(self._stubs)

    def trigger_job(
        self, service: str, request: job_service_pb2.TriggerJobRequest
    ) -> job_service_pb2.TriggerJobResponse:
        """Enqueue a job. A repeated idempotency key returns the same job."""
        return self._call(self._stubs[service].TriggerJob, request, job_service_pb2.TriggerJobResponse)

    def get_job(self, service: str, job_id: str) -> job_pb2.Job:
        """Return a job."""
        return self._call(self._stubs[service].GetJob, job_service_pb2.GetJobRequest(job_id=job_id), job_pb2.Job)

    def watch_job(self, service: str, job_id: str, *, timeout_s: float) -> Iterator[job_pb2.Job]:
        """Yield the job immediately and at each change until it is complete."""
        request = job_service_pb2.WatchJobRequest(job_id=job_id)
        return self._stream(self._stubs[service].WatchJob, request, job_pb2.Job, timeout_s)

    def list_jobs(self, service: str, request: job_service_pb2.ListJobsRequest) -> job_service_pb2.ListJobsResponse:
        """Return a page of jobs, the newest first."""
        return self._call(self._stubs[service].ListJobs, request, job_service_pb2.ListJobsResponse)

    def list_job_events(self, service: str, job_id: str) -> job_service_pb2.ListJobEventsResponse:
        """Return the events of a job, in order."""
        request = job_service_pb2.ListJobEventsRequest(job_id=job_id)
        return self._call(self._stubs[service].ListJobEvents, request, job_service_pb2.ListJobEventsResponse)

    def cancel_job(self, service: str, job_id: str) -> job_pb2.Job:
        """Request that a job is canceled. Idempotent."""
        request = job_service_pb2.CancelJobRequest(job_id=job_id)
        return self._call(self._stubs[service].CancelJob, request, job_pb2.Job)

    def retry_job(self, service: str, job_id: str) -> job_pb2.Job:
        """Enqueue a failed or canceled job again."""
        request = job_service_pb2.RetryJobRequest(job_id=job_id)
        return self._call(self._stubs[service].RetryJob, request, job_pb2.Job)

    def retry_jobs(self, service: str, request: job_service_pb2.RetryJobsRequest, *, timeout_s: float = 600.0) -> int:
        """Enqueue again all failed jobs that match the request, and return how many."""
        response = self._call(
            self._stubs[service].RetryJobs, request, job_service_pb2.RetryJobsResponse, timeout_s=timeout_s
        )
        return response.retried

    def list_queues(self, service: str) -> list[job_pb2.Queue]:
        """Return the queues by name."""
        request = job_service_pb2.ListQueuesRequest()
        return list(self._call(self._stubs[service].ListQueues, request, job_service_pb2.ListQueuesResponse).queues)

    def pause_queue(self, service: str, queue: str) -> job_pb2.Queue:
        """Hold back the jobs of a queue. Idempotent."""
        request = job_service_pb2.PauseQueueRequest(queue=queue)
        return self._call(self._stubs[service].PauseQueue, request, job_pb2.Queue)

    def resume_queue(self, service: str, queue: str) -> job_pb2.Queue:
        """Let the jobs of a queue run again. Idempotent."""
        request = job_service_pb2.ResumeQueueRequest(queue=queue)
        return self._call(self._stubs[service].ResumeQueue, request, job_pb2.Queue)

    def set_queue_limits(self, service: str, request: job_service_pb2.SetQueueLimitsRequest) -> job_pb2.Queue:
        """Replace the limits of a queue over all workers; 0 is no limit. Idempotent."""
        return self._call(self._stubs[service].SetQueueLimits, request, job_pb2.Queue)

    def list_workers(
        self, service: str, request: job_service_pb2.ListWorkersRequest
    ) -> job_service_pb2.ListWorkersResponse:
        """Return a page of worker processes by id."""
        return self._call(self._stubs[service].ListWorkers, request, job_service_pb2.ListWorkersResponse)

    def get_locks(self, service: str) -> list[job_pb2.Lock]:
        """Return the holder of each lock key, the longest held first."""
        request = job_service_pb2.GetLocksRequest()
        return list(self._call(self._stubs[service].GetLocks, request, job_service_pb2.GetLocksResponse).locks)

    def list_schedules(
        self, service: str, request: job_service_pb2.ListSchedulesRequest
    ) -> job_service_pb2.ListSchedulesResponse:
        """Return a page of schedules by name."""
        return self._call(self._stubs[service].ListSchedules, request, job_service_pb2.ListSchedulesResponse)

    def pause_schedule(self, service: str, name: str) -> schedule_pb2.Schedule:
        """Pause a schedule: it creates no jobs until it is resumed. Idempotent."""
        request = job_service_pb2.PauseScheduleRequest(name=name)
        return self._call(self._stubs[service].PauseSchedule, request, schedule_pb2.Schedule)

    def resume_schedule(self, service: str, name: str) -> schedule_pb2.Schedule:
        """Resume a paused schedule at its next slot from now. Idempotent."""
        request = job_service_pb2.ResumeScheduleRequest(name=name)
        return self._call(self._stubs[service].ResumeSchedule, request, schedule_pb2.Schedule)
