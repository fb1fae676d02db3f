"""`classifeed jobs queues|pause|resume|locks`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import typer

from classifeed.jobs.v1 import job_pb2
from classifeed_cli.commands.jobs.options import QueueArgument, ServiceOption
from classifeed_cli.exit_codes import refused, unavailable
from classifeed_cli.job_services import ask_all, choose
from classifeed_cli.messages import document_of
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.confirmation import YesOption, confirm
from classifeed_cli.views.job import show_locks, show_queues, show_unreachable
from classifeed_client import JobClient


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (queues, pause, resume, locks):
        group.command()(command)


@with_session
def queues(
    session: Session,
    service: ServiceOption = "",
) -> int:
    """List the queues: what waits, what runs, and how many processes work them."""
    out = session.out
    with session.job_client() as client:
        responses = ask_all(choose(client, service), client.list_queues)
    show_queues(out, responses.by_service)
    left_out = show_unreachable(out, responses)
    found = [
        {"service": name, **document_of(queue)} for name, listed in responses.by_service.items() for queue in listed
    ]
    out.document({"queues": found, **left_out})
    return responses.exit_code


@with_session
def pause(
    session: Session,
    queue: QueueArgument,
    yes: YesOption = False,
    service: ServiceOption = "",
) -> None:
    """Hold back the jobs of a queue; those that run go on."""
    out = session.out

    def ask(owners: Sequence[str]) -> None:
        whose = " and ".join(owners)
        confirm(out, f"Pause {queue} of {whose}? No job of it begins until `classifeed jobs resume {queue}`.", yes=yes)

    _switch(session, service, queue, JobClient.pause_queue, ask)


@with_session
def resume(
    session: Session,
    queue: QueueArgument,
    service: ServiceOption = "",
) -> None:
    """Let the jobs of a queue run again."""
    _switch(session, service, queue, JobClient.resume_queue)


@with_session
def locks(
    session: Session,
    service: ServiceOption = "",
) -> int:
    """List who holds which lock key since when."""
    out = session.out
    with session.job_client() as client:
        responses = ask_all(choose(client, service), client.get_locks)
    if any(responses.by_service.values()):
        show_locks(out, responses.by_service)
    else:
        out.say("No lock key is held.")
    left_out = show_unreachable(out, responses)
    found = [{"service": name, **document_of(lock)} for name, listed in responses.by_service.items() for lock in listed]
    out.document({"locks": found, **left_out})
    return responses.exit_code


def _switch(
    session: Session,
    service: str,
    queue: str,
    switch: Callable[[JobClient, str, str], job_pb2.Queue],
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
                    f"No service that answers has a queue {queue}, and {away} does not. See `classifeed status`.",
                    queue=queue,
                )
        if not owners:
            raise refused(
                "QUEUE_NOT_FOUND", f"No service has a queue {queue} now. Say whose it will be: --service", queue=queue
            )
        ask(owners)
        switched = {name: switch(client, name, queue) for name in owners}
    for name, found in switched.items():
        out.say(f"{found.queue} of {name} {'is paused' if found.paused else 'goes on'}.")
    out.document({"queues": [{"service": name, **document_of(found)} for name, found in switched.items()]})
