"""`classifeed jobs schedules list|pause|resume`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Final

import typer

from classifeed.jobs.v1 import job_service_pb2, schedule_pb2
from classifeed_cli.commands.jobs.options import ServiceOption
from classifeed_cli.job_services import ask_all, choose
from classifeed_cli.messages import document_of
from classifeed_cli.paging import collect
from classifeed_cli.session import Session, with_session
from classifeed_cli.terminal.output import Output
from classifeed_cli.views.job import show_unreachable
from classifeed_cli.views.job_tables import SCHEDULES, WIDE_SCHEDULES, Owned
from classifeed_client import JobClient

_PAUSE: Final = "Pause a schedule: it enqueues no jobs until it is resumed; missed slots are skipped."
NameArgument = Annotated[str, typer.Argument(help="Name of the schedule.")]


def register(group: typer.Typer) -> None:
    """Add the group."""
    schedules = typer.Typer(help="Schedules, which enqueue jobs at set times.", no_args_is_help=True)
    schedules.command("list")(list_schedules)
    schedules.command("pause", help=_PAUSE)(_switching(JobClient.pause_schedule))
    schedules.command("resume", help="Resume a paused schedule with its next slot.")(
        _switching(JobClient.resume_schedule)
    )
    group.add_typer(schedules, name="schedules")


@with_session
def list_schedules(
    session: Session,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Schedules of a service to print, by name.")] = 100,
    service: ServiceOption = "",
) -> int:
    """List the schedules, and when each enqueues its next job."""
    out = session.out
    with session.job_client() as client:
        request = job_service_pb2.ListSchedulesRequest()
        responses = ask_all(
            choose(client, service),
            lambda name: collect(partial(client.list_schedules, name), request, "schedules", limit),
        )
    found = [Owned(name, schedule) for name, page in responses.by_service.items() for schedule in page.schedules]
    out.rows(SCHEDULES if out.edge is not None else WIDE_SCHEDULES, found)
    if any(page.next_page_token for page in responses.by_service.values()):
        out.say(f"… more than {limit} of a service; increase --limit to see more")
    left_out = show_unreachable(out, responses)
    out.document({"schedules": [_document(name, schedule) for name, schedule in found], **left_out})
    return responses.exit_code


def _switching(call: Callable[[JobClient, str, str], schedule_pb2.Schedule]) -> Callable[..., int]:
    """Return a command that makes one call for a schedule, in each service that has it."""

    @with_session
    def command(session: Session, name: NameArgument, service: ServiceOption = "") -> int:
        with session.job_client() as client:
            return _switch(session.out, choose(client, service), lambda owner: call(client, owner, name))

    return command


def _switch(out: Output, services: list[str], switch: Callable[[str], schedule_pb2.Schedule]) -> int:
    switched = ask_all(services, switch, absent="SCHEDULE_NOT_FOUND")
    left_out = show_unreachable(out, switched)
    for owner, schedule in switched.by_service.items():
        out.say(f"{schedule.name} of {owner} {'is paused' if schedule.paused else 'is resumed'}.")
    found = [_document(owner, schedule) for owner, schedule in switched.by_service.items()]
    out.document({"schedules": found, **left_out})
    return switched.exit_code


def _document(service: str, schedule: schedule_pb2.Schedule) -> dict[str, object]:
    return {"service": service, **document_of(schedule)}
