"""`classifeed jobs trigger|cancel|retry`."""

from __future__ import annotations

import json
import time
from typing import Annotated, Any

import typer
from google.protobuf.timestamp_pb2 import Timestamp

from classifeed.jobs.v1 import job_pb2, job_service_pb2
from classifeed_cli.commands.jobs.options import JobArgument, QueueArgument, ServiceOption
from classifeed_cli.commands.jobs.waiting import end_with, wait_for_job
from classifeed_cli.durations import parse_duration
from classifeed_cli.exit_codes import ExitCode
from classifeed_cli.job_services import ask_all, choose, find_job
from classifeed_cli.messages import document_of
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.confirmation import YesOption, confirm
from classifeed_cli.views.job import job_document, show_unreachable, status_of


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (trigger, cancel, retry):
        group.command()(command)


@with_session
def trigger(
    session: Session,
    queue: QueueArgument,
    task: Annotated[str, typer.Argument(help="Name of the task.")],
    lock_key: Annotated[str, typer.Option(help="Lock key; only one job with the same key runs at a time.")],
    args: Annotated[str, typer.Option(help="Arguments of the task, a JSON object.")] = "{}",
    idempotency_key: Annotated[str, typer.Option(help="Key of the request; a repeated one returns the same job.")] = "",
    partition_key: Annotated[str, typer.Option(help="Partition key, for limits and fairness.")] = "",
    priority: Annotated[
        int | None, typer.Option(help="Priority; smaller values run first.", show_default="100")
    ] = None,
    delay: Annotated[str, typer.Option(help="Not before this time has passed: 90s, 10m, 1h.")] = "",
    max_attempts: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of attempts.", show_default="5")
    ] = None,
    lease: Annotated[
        int | None, typer.Option(min=1, help="Seconds without a heartbeat until another worker gets the job.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for completion; exit 0 only if it succeeded.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Maximum time for --wait, in seconds.")] = 600,
) -> None:
    """Enqueue a job of the loader."""
    out = session.out
    request = job_service_pb2.TriggerJobRequest(
        queue=queue,
        task=task,
        lock_key=lock_key,
        idempotency_key=idempotency_key,
        partition_key=partition_key,
        priority=priority,
        max_attempts=max_attempts,
        lease_ttl_sec=lease,
        producer="cli",
    )
    request.args.update(_object(args))
    if delay:
        request.available_time.FromNanoseconds(time.time_ns() + int(parse_duration(delay) * 1e9))
    with session.job_client() as client:
        [service] = choose(client, "loader")
        triggered = client.trigger_job(service, request)
        if triggered.differs:
            out.progress(f"the key was used before, by a job with other {', '.join(triggered.differs)}")
        if not wait:
            out.say(f"{triggered.job_id}: {status_of(triggered.status)}")
            out.document(document_of(triggered))
            return
        job = wait_for_job(out, client, service, triggered.job_id, timeout)
    end_with(out, service, job)


@with_session
def cancel(session: Session, job_id: JobArgument, service: ServiceOption = "") -> None:
    """Stop a job: a queued one at once, a running one at its next safe point."""
    out = session.out
    with session.job_client() as client:
        owner, _ = find_job(client, choose(client, service), job_id)
        job = client.cancel_job(owner, job_id)
    words = "stop requested" if job.status == job_pb2.JOB_STATUS_RUNNING else status_of(job.status)
    out.say(f"{job_id}: {words}")
    out.document(job_document(owner, job))


@with_session
def retry(
    session: Session,
    job_id: Annotated[str, typer.Argument(metavar="[JOB]", help="Id of a failed or canceled job.")] = "",
    queue: Annotated[str, typer.Option(help="All failed jobs of this queue, instead of one job.")] = "",
    task: Annotated[str, typer.Option(help="With --queue: only jobs of this task.")] = "",
    since: Annotated[str, typer.Option(help="With --queue: only jobs that failed within this time: 10m, 1h, 1d.")] = "",
    yes: YesOption = False,
    service: ServiceOption = "",
) -> int:
    """Retry failed jobs, each with its full number of attempts."""
    out = session.out
    if bool(job_id) == bool(queue):
        raise typer.BadParameter("name either a job or --queue")
    with session.job_client() as client:
        services = choose(client, service)
        if job_id:
            owner, _ = find_job(client, services, job_id)
            job = client.retry_job(owner, job_id)
            out.say(f"{job_id}: {status_of(job.status)}")
            out.document(job_document(owner, job))
            return ExitCode.DONE
        only = f" of the task {task}" if task else ""
        lately = f" that failed within {since}" if since else ""
        confirm(out, f"Retry all failed jobs{only} of the queue {queue}{lately}?", yes=yes)
        request = job_service_pb2.RetryJobsRequest(queue=queue, task=task)
        if since:
            request.failed_since.CopyFrom(_before_now(parse_duration(since)))
        responses = ask_all(services, lambda name: client.retry_jobs(name, request))
    retried = sum(responses.by_service.values())
    out.say(f"{retried} {'job waits' if retried == 1 else 'jobs wait'} for another attempt.")
    left_out = show_unreachable(out, responses)
    out.document({"retried": str(retried), **left_out})
    return responses.exit_code


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"--args is not JSON that can be read: {error}") from error
    if not isinstance(value, dict):
        raise typer.BadParameter('--args must be a JSON object, such as {"file": "a.csv"}')
    return value


def _before_now(duration_s: float) -> Timestamp:
    moment = Timestamp()
    moment.FromNanoseconds(time.time_ns() - int(duration_s * 1e9))
    return moment
