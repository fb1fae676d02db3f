"""Waits until nothing is left to do: no lag, no outbox, no publish mark, no due job, everything searchable."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.platform.probe import http_get

_PAUSE_S = 0.15
_LONGEST_RESPONSE_S = 10.0
# When the time is over, those that were not asked yet have so long to say what is left.
_LAST_LOOK_S = 1.0
_LEAST_LOOK_S = 0.2
UNREACHABLE = "unreachable"


async def wait_settled(services: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    """Return once two rounds in a row found nothing left.

    Services are asked one after the other in the order in which an offer passes through them: what one has handed on
    is then seen at the next. Two rounds, because answers travel backwards.

    Args:
        services: HTTP address of each, in the table's order.
        timeout_s: when to give up, at most a second later.

    Raises:
        CommandError: TIME_OUT; its document holds what is left, and names the services that do not say it.
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
        await asyncio.sleep(min(_PAUSE_S, max(0.0, deadline - time.monotonic())))


class _Look:
    """One round: what is left at which service, and why some do not say it.

    Args:
        services: HTTP address of each.
    """

    def __init__(self, services: Mapping[str, str]) -> None:
        self._services = services
        self.left: dict[str, dict[str, int]] = {}
        self.faults: dict[str, str] = {}

    async def ask_until(self, deadline: float) -> None:
        """Ask one service after the other; once the deadline (of the monotonic clock) is over, all others at once.

        Whoever is asked shortly before it has until the end of the last look, too.
        """
        waiting, end = dict(self._services), deadline + _LAST_LOOK_S
        while waiting and time.monotonic() < deadline:
            name = next(iter(waiting))
            limit_s = max(deadline - time.monotonic(), _LAST_LOOK_S)
            await self._ask(name, waiting.pop(name), min(_LONGEST_RESPONSE_S, limit_s))
        left_s = max(end - time.monotonic(), _LEAST_LOOK_S)
        await asyncio.gather(*(self._ask(name, address, left_s) for name, address in waiting.items()))

    async def _ask(self, name: str, address: str, limit_s: float) -> None:
        response = await http_get(address, "/backlog", timeout_s=limit_s)
        if response is None:
            self._note(name, f"http://{address}/backlog does not respond")
            return
        status, body = response
        try:
            backlog = json.loads(body)
        except ValueError:
            backlog = {}
        if status != 200:
            self._note(name, backlog.get("detail") or f"http://{address}/backlog responds with HTTP {status}")
        elif items := {item: int(count) for item, count in backlog["items"].items() if int(count)}:
            self.left[name] = items

    def _note(self, name: str, fault: str) -> None:
        self.left[name] = {UNREACHABLE: 1}
        self.faults[name] = fault

    def still_busy(self, timeout_s: float) -> CommandError:
        """Return the error of a wait that has come to its end."""
        counts = {f"{name}.{item}": str(count) for name, items in self.left.items() for item, count in items.items()}
        busy = [f"{what} {count}" for what, count in counts.items() if not what.endswith(f".{UNREACHABLE}")]
        words = [", ".join(busy)] if busy else []
        words += [f"{name} does not report its backlog: {fault}" for name, fault in self.faults.items()]
        what = "; ".join(words) or "nothing in the last round"
        hint = " `classifeed status` says what is wrong." if self.faults else ""
        return CommandError(
            ExitCode.TIME_OUT,
            "NOT_SETTLED",
            f"not settled after {timeout_s:g} s: {what}{'.' if hint else ''}{hint}",
            counts,
            {
                "settled": False,
                "left": {name: dict(items) for name, items in self.left.items()},
                "unreachable": self.faults,
            },
        )
