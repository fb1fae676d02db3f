"""`classifeed jobs queues|pause|resume|limit|workers|locks`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, TypeVar

import typer
from google.protobuf.message import Message

from classifeed.jobs.v1 import job_pb2, job_service_pb2
from classifeed_cli.commands.jobs.options import QueueArgument, ServiceOption
from classifeed_cli.exit_codes import refused, unavailable
from classifeed_cli.job_services import ask_all, choose
from classifeed_cli.messages import document_of
from classifeed_cli.paging import collect
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.confirmation import YesOption, confirm
from classifeed_cli.terminal.table import Table
from classifeed_cli.views.job import describe_limits, show_unreachable
from classifeed_cli.views.job_tables import LOCKS, QUEUES, WORKERS, Owned
from classifeed_client import JobClient

MessageT = TypeVar("MessageT", bound=Message)


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (queues, pause, resume, limit, workers, locks):
        group.command()(command)


@with_session
def queues(session: Session, service: ServiceOption = "") -> int:
    """List the queues: waiting and running jobs, and the number of processes that run them."""
    return _list(session, service, "queues", lambda client: client.list_queues, QUEUES)


@with_session
def pause(
    session: Session,
    queue: QueueArgument,
    yes: YesOption = False,
    service: ServiceOption = "",
) -> None:
    """Pause a queue: its waiting jobs do not start, and running ones continue."""
    out = session.out

    def ask(owners: Sequence[str]) -> None:
        whose = " and ".join(owners)
        confirm(out, f"Pause {queue} of {whose}? No job of it starts until `classifeed jobs resume {queue}`.", yes=yes)

    _change(session, service, queue, JobClient.pause_queue, _pause_message, ask)


@with_session
def resume(session: Session, queue: QueueArgument, service: ServiceOption = "") -> None:
    """Resume a queue: its jobs start again."""
    _change(session, service, queue, JobClient.resume_queue, _pause_message)


@with_session
def limit(
    session: Session,
    queue: QueueArgument,
    running: Annotated[int, typer.Option("--running", min=0, help="Jobs that run at a time.")] = 0,
    per_partition: Annotated[
        int, typer.Option("--per-partition", min=0, help="Jobs of one partition key that run at a time.")
    ] = 0,
    rate: Annotated[float, typer.Option("--rate", min=0, help="Jobs started per second.")] = 0,
    burst: Annotated[
        int, typer.Option("--burst", min=0, help="Jobs started at once after an idle time; needs --rate.")
    ] = 0,
    service: ServiceOption = "",
) -> None:
    """Replace the limits of a queue over all processes; an omitted limit is removed."""

    def change(client: JobClient, owner: str, queue: str) -> job_pb2.Queue:
        request = job_service_pb2.SetQueueLimitsRequest(
            queue=queue, concurrency_limit=running, partition_limit=per_partition, rate_limit=rate, rate_burst=burst
        )
        return client.set_queue_limits(owner, request)

    _change(session, service, queue, change, describe_limits)


@with_session
def workers(session: Session, service: ServiceOption = "") -> int:
    """List the processes that run jobs: their queues, and when they renewed their lease."""
    return _list(session, service, "workers", lambda client: partial(_all_workers, client), WORKERS)


@with_session
def locks(session: Session, service: ServiceOption = "") -> int:
    """List the lock keys, with the job that holds each and since when."""
    return _list(session, service, "locks", lambda client: client.get_locks, LOCKS)


def _list(
    session: Session,
    service: str,
    items: str,
    ask: Callable[[JobClient], Callable[[str], Sequence[MessageT]]],
    table: Table[Owned[MessageT]],
) -> int:
    """List the items of each service; return the exit code."""
    out = session.out
    with session.job_client() as client:
        responses = ask_all(choose(client, service), ask(client))
    found = [Owned(name, item) for name, listed in responses.by_service.items() for item in listed]
    out.rows(table, found)
    left_out = show_unreachable(out, responses)
    out.document({items: [{"service": each.service, **document_of(each.item)} for each in found], **left_out})
    return responses.exit_code


def _all_workers(client: JobClient, service: str) -> Sequence[job_pb2.Worker]:
    request = job_service_pb2.ListWorkersRequest()
    return collect(partial(client.list_workers, service), request, "workers", sys.maxsize).workers


def _pause_message(queue: job_pb2.Queue) -> str:
    return "is paused" if queue.paused else "is resumed"


def _change(
    session: Session,
    service: str,
    queue: str,
    change: Callable[[JobClient, str, str], job_pb2.Queue],
    describe: Callable[[job_pb2.Queue], str],
    ask: Callable[[Sequence[str]], None] = lambda _: None,
) -> None:
    out = session.out
    with session.job_client() as client:
        owners = choose(client, service)
        if not service:
            responses = ask_all(owners, client.list_queues)
            show_unreachable(out, responses)
            owners = [
                name for name, found in responses.by_service.items() if any(each.queue == queue for each in found)
            ]
            if not owners and responses.unreachable:
                away = ", ".join(responses.unreachable)
                raise unavailable(
                    "QUEUE_NOT_FOUND",
                    f"No service that responds has a queue {queue}; {away} does not respond. See `classifeed status`.",
                    queue=queue,
                )
        if not owners:
            raise refused(
                "QUEUE_NOT_FOUND", f"No service has a queue {queue} yet. Name its service with --service", queue=queue
            )
        ask(owners)
        changed = {name: change(client, name, queue) for name in owners}
    for name, found in changed.items():
        out.say(f"{found.queue} of {name} {describe(found)}.")
    out.document({"queues": [{"service": name, **document_of(found)} for name, found in changed.items()]})
