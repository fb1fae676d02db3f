"""Waits until no work is left: no lag, outbox, publish mark or due job, and everything is searchable."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.platform.probing.probe import http_get

_PAUSE_S = 0.15
_LONGEST_PAUSE_S = 1.0
_PAUSE_SHARE = 0.03
_LONGEST_RESPONSE_S = 10.0
# After the deadline, the remaining services get this time to report their backlog.
_LAST_LOOK_S = 1.0
UNREACHABLE = "unreachable"


async def wait_settled(services: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    """Return after two consecutive rounds without a backlog.

    Services are called one after the other, in the order in which an offer passes through them, so that work handed on
    is seen at the next service. Two rounds are needed because results travel backwards.

    Args:
        services: HTTP addresses of the services, in the order of the service table.
        timeout_s: Timeout in seconds; the last calls may take a second longer.

    Raises:
        CommandError: TIME_OUT; its document has the backlog, and the services that did not report one.
    """
    started = time.monotonic()
    deadline = started + timeout_s
    quiet = 0
    while True:
        look = _Look(services)
        await look.ask_until(deadline)
        quiet = quiet + 1 if not look.left else 0
        if quiet == 2:
            return {"settled": True, "left": {}, "seconds": round(time.monotonic() - started, 2)}
        if time.monotonic() >= deadline:
            raise look.still_busy(timeout_s)
        now = time.monotonic()
        await asyncio.sleep(min(_pause_s(now - started), max(0.0, deadline - now)))


def _pause_s(waited_s: float) -> float:
    """Return the seconds before the next round, which grow with the wait: counting the backlog is work, too."""
    return min(_LONGEST_PAUSE_S, max(_PAUSE_S, waited_s * _PAUSE_SHARE))


class _Look:
    """One round: the backlog of each service, and the errors of services that did not report one.

    Args:
        services: HTTP addresses of the services.
    """

    def __init__(self, services: Mapping[str, str]) -> None:
        self._services = services
        self.left: dict[str, dict[str, int]] = {}
        self.faults: dict[str, str] = {}

    async def ask_until(self, deadline: float) -> None:
        """Call the services one after the other, and after the deadline (monotonic clock) all remaining ones at once.

        These include a service that was called too shortly before the deadline to respond.
        """
        waiting = dict(self._services)
        hurried: dict[str, str] = {}
        while waiting and (left_s := deadline - time.monotonic()) > 0:
            name = next(iter(waiting))
            address = waiting.pop(name)
            if not await self._ask(name, address, min(_LONGEST_RESPONSE_S, left_s)) and left_s < _LAST_LOOK_S:
                hurried[name] = address
        asked_last = {**hurried, **waiting}.items()
        await asyncio.gather(*(self._ask(name, address, _LAST_LOOK_S) for name, address in asked_last))

    async def _ask(self, name: str, address: str, limit_s: float) -> bool:
        """Record the backlog of a service, and return whether it has responded."""
        response = await http_get(address, "/backlog", timeout_s=limit_s)
        self.left.pop(name, None)
        self.faults.pop(name, None)
        if response is None:
            self._note(name, f"http://{address}/backlog does not respond")
            return False
        status, body = response
        try:
            backlog = json.loads(body)
        except ValueError:
            backlog = {}
        if status != 200:
            self._note(name, backlog.get("detail") or f"http://{address}/backlog responds with HTTP {status}")
        elif items := {item: int(count) for item, count in backlog["items"].items() if int(count)}:
            self.left[name] = items
        return True

    def _note(self, name: str, fault: str) -> None:
        self.left[name] = {UNREACHABLE: 1}
        self.faults[name] = fault

    def still_busy(self, timeout_s: float) -> CommandError:
        """Return the error of a wait that timed out."""
        left = {name: self.left[name] for name in self._services if name in self.left}
        faults = {name: self.faults[name] for name in self._services if name in self.faults}
        counts = {f"{name}.{item}": str(count) for name, items in left.items() for item, count in items.items()}
        busy = [f"{what} {count}" for what, count in counts.items() if not what.endswith(f".{UNREACHABLE}")]
        words = [", ".join(busy)] if busy else []
        words += [f"{name} does not report its backlog: {fault}" for name, fault in faults.items()]
        what = "; ".join(words) or "nothing in the last round"
        hint = " `classifeed status` says what is wrong." if faults else ""
        return CommandError(
            ExitCode.TIME_OUT,
            "NOT_SETTLED",
            f"not settled after {timeout_s:g} s: {what}{'.' if hint else ''}{hint}",
            counts,
            {
                "settled": False,
                "left": {name: dict(items) for name, items in left.items()},
                "unreachable": faults,
            },
        )
