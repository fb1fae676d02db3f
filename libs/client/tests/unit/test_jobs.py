"""Calls for jobs, over a real channel to a servicer in this process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from classifeed.jobs.v1 import job_pb2
from classifeed.jobs.v1.job_service_pb2_grpc import JobServiceServicer, add_JobServiceServicer_to_server
from classifeed_client import DeadlineExceeded, JobClient

# The generated types are for an asynchronous server, but this server is synchronous.
SyncServicer: Any = JobServiceServicer


class Jobs(SyncServicer):  # type: ignore[misc]
    """Sends a job twice; for a job named `slow`, the stream then continues until `stop`."""

    def __init__(self) -> None:
        self.stop = threading.Event()

    def WatchJob(self, request: Any, context: Any) -> Iterator[job_pb2.Job]:
        yield job_pb2.Job(job_id=request.job_id, attempt=1)
        yield job_pb2.Job(job_id=request.job_id, attempt=2)
        if request.job_id == "slow":
            self.stop.wait(120)


@pytest.fixture
def client() -> Iterator[JobClient]:
    jobs = Jobs()
    server = grpc.server(ThreadPoolExecutor(4))
    add_JobServiceServicer_to_server(jobs, server)  # type: ignore[arg-type]
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    with JobClient({"loader": address}, lambda: "t") as made:
        yield made
    jobs.stop.set()
    server.stop(None).wait()


@pytest.mark.parametrize("in_main_thread", [True, False])
def test_a_watched_job_is_reported_in_one_context(
    client: JobClient, caplog: pytest.LogCaptureFixture, in_main_thread: bool
) -> None:
    def attempts(job_id: str, timeout_s: float) -> Iterator[int]:
        return (job.attempt for job in client.watch_job("loader", job_id, timeout_s=timeout_s))

    def watch() -> None:
        assert list(attempts("quick", 90)) == [1, 2]
        seen = attempts("slow", 2)
        assert (next(seen), next(seen)) == (1, 2)
        with pytest.raises(DeadlineExceeded):
            next(seen)

    with caplog.at_level(logging.DEBUG, logger="opentelemetry"), ThreadPoolExecutor(1) as pool:
        watch() if in_main_thread else pool.submit(watch).result()
    assert [record.message for record in caplog.records if record.name.startswith("opentelemetry")] == []
