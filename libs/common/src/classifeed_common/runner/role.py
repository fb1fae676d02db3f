"""Roles: what a service does by itself, besides answering calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog

from classifeed_common.faults.interruptions import INTERRUPTIONS
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.telemetry.metrics import ROLE_FAILURES

_log = structlog.get_logger("runner")


class RolePart(Protocol):
    """A loop that is run together with others, as one role."""

    async def run(self, stop: asyncio.Event) -> None:
        """See `Role.run`."""

    def blocked(self) -> Mapping[str, str]:
        """See `Role.blocked`."""


@dataclass(frozen=True)
class Role:
    """A loop of a service, under the name by which it can be run alone.

    Attributes:
        name: unique in the service; also the name of its Deployment.
        run: works until the event is set, then ends what it has begun and returns. It is cancelled when it does not
            within the drain grace, and must bear that at any await: whatever counts is in a transaction.
        backlog: counts what waits for it, by item; raises rather than guess.
        blocked: says what it cannot go on with although it runs, and why, each in words that name the fix: a partition
            whose record fails, a shard whose queue was cut off. Empty: nothing. Called often: returns from memory.
        is_everywhere: whether each process runs it, whatever it was started for: what all others need, such as a look
            at the file that their rules come from. It cannot be chosen, and is no Deployment.
    """

    name: str
    run: Callable[[asyncio.Event], Awaitable[None]]
    backlog: Callable[[], Awaitable[Mapping[str, int]]] | None = None
    blocked: Callable[[], Mapping[str, str]] | None = None
    is_everywhere: bool = False

    @classmethod
    def together(
        cls, name: str, *parts: RolePart, backlog: Callable[[], Awaitable[Mapping[str, int]]] | None = None
    ) -> Role:
        """Return a role that runs several loops side by side; what blocks any of them blocks it."""

        async def run(stop: asyncio.Event) -> None:
            async with asyncio.TaskGroup() as group:
                for part in parts:
                    group.create_task(part.run(stop))

        def blocked() -> dict[str, str]:
            return {item: why for part in parts for item, why in part.blocked().items()}

        return cls(name, run, backlog, blocked)


class RoleEndedError(Exception):
    """A role ended although it was not stopped; the process ends with it, so that its supervisor starts it afresh."""


async def run_role(role: Role, stop: asyncio.Event) -> None:
    """Run a role to its end.

    Raises:
        RoleEndedError: it failed, or returned before `stop` was set: a loop that died in silence is never acceptable.
    """
    structlog.contextvars.bind_contextvars(role=role.name)
    try:
        await role.run(stop)
    except INTERRUPTIONS:
        raise
    except BaseException as error:
        ROLE_FAILURES.labels(role.name).inc()
        log_fault(_log, "runner.role.failed", error, role=role.name)
        raise RoleEndedError(role.name) from error
    if not stop.is_set():
        ROLE_FAILURES.labels(role.name).inc()
        _log.error("runner.role.ended", role=role.name)
        raise RoleEndedError(role.name)
