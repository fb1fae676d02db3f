"""Wait for the completion of a job."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

import typer

from classifeed.jobs.v1 import job_pb2
from classifeed_cli.exit_codes import ExitCode, timed_out
from classifeed_cli.terminal.interruption import Interruption
from classifeed_cli.terminal.output import Output
from classifeed_cli.views.job import ENDED, job_document, progress_words, show_job, status_of
from classifeed_client import DeadlineExceeded, JobClient, Unreachable

_RETRY_S: Final = 0.5


def wait_for_job(out: Output, client: JobClient, service: str, job_id: str, timeout_s: float) -> job_pb2.Job:
    """Return the job once it is complete. Calls are retried if the service restarts.

    Raises:
        CommandError: TIME_OUT, the job is not complete within the timeout; it continues.
    """
    ends_at = time.monotonic() + timeout_s
    job = job_pb2.Job(job_id=job_id)
    with Interruption(f"job {job_id} continues; check again with `classifeed jobs status {job_id}`"):
        while job.status not in ENDED:
            left_s = ends_at - time.monotonic()
            if left_s <= 0:
                raise timed_out(
                    "JOB_NOT_ENDED",
                    f"Job {job_id} has not completed within {timeout_s:g} s; it continues.",
                    job_id=job_id,
                )
            with suppress(Unreachable, DeadlineExceeded):
                for job in client.watch_job(service, job_id, timeout_s=left_s):
                    out.progress(" ".join(filter(None, (status_of(job.status), progress_words(job)))))
            if job.status not in ENDED:
                time.sleep(min(_RETRY_S, max(0.0, ends_at - time.monotonic())))
    return job


def end_with(out: Output, service: str, job: job_pb2.Job) -> None:
    """Print a complete job; exit with code 1 unless it succeeded."""
    show_job(out, service, job)
    out.document(job_document(service, job))
    if job.status != job_pb2.JOB_STATUS_SUCCEEDED:
        raise typer.Exit(ExitCode.REFUSED)
