"""Calls of all services that have jobs, with combined responses."""

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
    """Responses by service, and the errors of unreachable services."""

    by_service: dict[str, Response] = field(default_factory=dict)
    unreachable: dict[str, str] = field(default_factory=dict)

    @property
    def exit_code(self) -> ExitCode:
        """Exit code of a command that has printed the responses: UNAVAILABLE if some are missing."""
        return ExitCode.UNAVAILABLE if self.unreachable else ExitCode.DONE


def choose(client: JobClient, service: str) -> list[str]:
    """Return the services to call: the named one, or all.

    Raises:
        CommandError: USAGE, there is no such service.
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
    """Call all services concurrently, and record those that do not respond.

    Args:
        services: Names of the services.
        ask: Function that calls one service.
        absent: Reason of a refusal by a service that does not have the requested item; it is left out of the responses.
            None: every refusal is raised.
        is_one: Whether only one service can have the item. Then they are called one after the other until one has it.

    Raises:
        Unreachable, DeadlineExceeded: No service has the item, and one did not respond.
        Refused: All services responded and none has the item, or one refused for another reason.
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
    """Return the service of a job, and the job.

    Raises:
        Refused: JOB_NOT_FOUND, no service has the job.
        Unreachable: A service does not respond, and the others do not have the job.
    """
    responses = ask_all(services, lambda service: client.get_job(service, job_id), absent="JOB_NOT_FOUND", is_one=True)
    return next(iter(responses.by_service.items()))
