"""`classifeed jobs status|list`."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, cast

import typer

from classifeed.jobs.v1 import job_pb2, job_service_pb2
from classifeed_cli.commands.jobs.options import JobArgument, ServiceOption
from classifeed_cli.commands.jobs.waiting import end_with, wait_for_job
from classifeed_cli.job_services import ask_all, choose, find_job
from classifeed_cli.messages import document_of
from classifeed_cli.paging import collect
from classifeed_cli.session import Session, with_session
from classifeed_cli.views.job import job_document, show_job, show_unreachable
from classifeed_cli.views.job_tables import EVENTS, JOBS, WIDE_JOBS, Owned


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command()(status)
    group.command("list")(list_jobs)


@with_session
def status(
    session: Session,
    job_id: JobArgument,
    journal: Annotated[bool, typer.Option("--journal", help="Print the history of the job.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for completion; exit 0 only if it succeeded.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Maximum time for --wait, in seconds.")] = 600,
    service: ServiceOption = "",
) -> None:
    """Print one job."""
    out = session.out
    with session.job_client() as client:
        owner, job = find_job(client, choose(client, service), job_id)
        if wait:
            job = wait_for_job(out, client, owner, job_id, timeout)
        events = client.list_job_events(owner, job_id) if journal else None
    if wait and events is None:
        end_with(out, owner, job)
        return
    show_job(out, owner, job)
    if events is not None:
        out.rows(EVENTS, events.events)
    out.document(job_document(owner, job) | (document_of(events) if events is not None else {}))


@with_session
def list_jobs(
    session: Session,
    queue: Annotated[str, typer.Option(help="Only jobs of this queue.")] = "",
    state: Annotated[
        Literal["queued", "running", "succeeded", "failed", "canceled"] | None,
        typer.Option("--status", help="Only jobs with this status."),
    ] = None,
    task: Annotated[str, typer.Option(help="Only jobs of this task.")] = "",
    lock_key: Annotated[str, typer.Option(help="Only jobs with this lock key.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Jobs to print, the newest first.")] = 20,
    service: ServiceOption = "",
) -> int:
    """List jobs, the newest first, with the time in their status and the error of failed ones."""
    out = session.out
    wanted = job_service_pb2.ListJobsRequest(queue=queue, task=task, lock_key=lock_key)
    if state is not None:
        wanted.status = cast(job_pb2.JobStatus, job_pb2.JobStatus.Value(f"JOB_STATUS_{state.upper()}"))
    with session.job_client() as client:
        responses = ask_all(
            choose(client, service), lambda name: collect(partial(client.list_jobs, name), wanted, "jobs", limit)
        )
    jobs = [Owned(name, job) for name, page in responses.by_service.items() for job in page.jobs]
    jobs.sort(key=lambda each: each.item.create_time.ToNanoseconds(), reverse=True)
    has_more = len(jobs) > limit or any(page.next_page_token for page in responses.by_service.values())
    out.rows(WIDE_JOBS if out.edge is None else JOBS, jobs[:limit], more_than=limit if has_more else None)
    left_out = show_unreachable(out, responses)
    out.document({"jobs": [job_document(name, job) for name, job in jobs[:limit]], **left_out})
    return responses.exit_code
