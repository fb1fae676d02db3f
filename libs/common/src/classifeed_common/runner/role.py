"""Role: background work of a service, in addition to serving calls."""

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
    """A loop that runs together with others as one role."""

    async def run(self, stop: asyncio.Event) -> None:
        """See `Role.run`."""

    def blocked(self) -> Mapping[str, str]:
        """See `Role.blocked`."""


@dataclass(frozen=True)
class Role:
    """A loop of a service, with a name under which it can run alone.

    Attributes:
        name: name, unique in the service; also the name of its Deployment.
        run: works until the event is set, then completes the work under way and returns. After the drain grace time it
            is cancelled, and must survive that at any await: all effects must be in transactions.
        backlog: counts its waiting work, by item; raises if a count is unknown.
        blocked: returns what the role cannot continue with, and why, each with the fix: a partition whose record fails,
            a shard whose queue was cut off. Empty: nothing. Called often, so it must return from memory.
        is_everywhere: whether each process runs it, with any selection of roles: for work that all other roles need,
            such as checking the file of their rules. It cannot be selected, and has no Deployment.
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
        """Return a role that runs several loops in parallel; a fault that blocks one of them blocks the role."""

        async def run(stop: asyncio.Event) -> None:
            async with asyncio.TaskGroup() as group:
                for part in parts:
                    group.create_task(part.run(stop))

        def blocked() -> dict[str, str]:
            return {item: why for part in parts for item, why in part.blocked().items()}

        return cls(name, run, backlog, blocked)


class RoleEndedError(Exception):
    """A role ended although it was not stopped. The process ends with it, and its supervisor starts it again."""


async def run_role(role: Role, stop: asyncio.Event) -> None:
    """Run a role to its end.

    Raises:
        RoleEndedError: it failed, or returned before `stop` was set: a loop must never end silently.
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
