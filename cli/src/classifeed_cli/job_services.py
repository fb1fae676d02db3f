"""Calls of all services that have jobs, as if they were one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from classifeed.jobs.v1 import job_pb2
from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_client import DeadlineExceeded, JobClient, Refused, Unreachable
from classifeed_client.aside import begin

Response = TypeVar("Response")


@dataclass
class Responses(Generic[Response]):
    """The responses by service, and why the others gave none."""

    by_service: dict[str, Response] = field(default_factory=dict)
    unreachable: dict[str, str] = field(default_factory=dict)

    @property
    def exit_code(self) -> ExitCode:
        """How a command ends that has printed what it has: UNAVAILABLE where some of it is missing."""
        return ExitCode.UNAVAILABLE if self.unreachable else ExitCode.DONE


def choose(client: JobClient, service: str) -> list[str]:
    """Return the services to ask: the one that is named, else all.

    Raises:
        CommandError: USAGE, there is no such one.
    """
    if not service:
        return client.services
    if service not in client.services:
        known = ", ".join(client.services)
        raise CommandError(ExitCode.USAGE, "USAGE", f"{service} has no jobs here; services with jobs: {known}")
    return [service]


def ask_all(
    services: list[str], ask: Callable[[str], Response], *, absent: str | None = None, is_one: bool = False
) -> Responses[Response]:
    """Ask each service, all at once; those that do not respond are noted.

    Args:
        services: which.
        ask: sends the request to one.
        absent: reason by which a service says that it does not have what is requested; it is left out then. None: any
            refusal is raised.
        is_one: only one can have it: they are called one after the other, and none after that one.

    Raises:
        Unreachable, DeadlineExceeded: none has it, and one that may have it does not respond.
        Refused: all respond, and none has it; or one refuses for another reason.
    """
    responses = Responses[Response]()
    missing: Refused | None = None
    away: Unreachable | DeadlineExceeded | None = None
    begun = {} if is_one else {service: begin(partial(ask, service)) for service in services}
    for service in services:
        try:
            responses.by_service[service] = begun[service].result() if service in begun else ask(service)
            if is_one:
                break
        except (Unreachable, DeadlineExceeded) as error:
            responses.unreachable[service] = error.message
            away = error
        except Refused as error:
            if error.reason != absent:
                raise
            missing = error
    if not responses.by_service and (nobody := away or missing):
        raise nobody
    return responses


def find_job(client: JobClient, services: list[str], job_id: str) -> tuple[str, job_pb2.Job]:
    """Return whose job it is, and the job.

    Raises:
        Refused: JOB_NOT_FOUND, none of them has it.
        Unreachable: one that may have it does not respond, and the others do not have it.
    """
    responses = ask_all(services, lambda service: client.get_job(service, job_id), absent="JOB_NOT_FOUND", is_one=True)
    return next(iter(responses.by_service.items()))
