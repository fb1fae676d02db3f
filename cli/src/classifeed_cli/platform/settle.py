"""Waits until nothing is left to do: no lag, no outbox, no publish mark, no due job, everything searchable."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from classifeed_cli.exit_codes import CommandError, ExitCode
from classifeed_cli.platform.probe import get_json

_PAUSE_S = 0.15
UNREACHABLE = "unreachable"


async def wait_settled(services: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    """Return once two rounds in a row found nothing left.

    Services are asked one after the other in the order in which an offer passes through them: what one has handed on
    is then seen at the next. Two rounds, because answers travel backwards.

    Args:
        services: HTTP address of each, in the table's order.
        timeout_s: when to give up.

    Raises:
        CommandError: TIME_OUT; its document holds what is left.
    """
    deadline = time.monotonic() + timeout_s
    started = time.monotonic()
    quiet = 0
    while True:
        left = await _ask_all(services)
        quiet = quiet + 1 if not left else 0
        if quiet == 2:
            return {"settled": True, "left": {}, "seconds": round(time.monotonic() - started, 2)}
        if time.monotonic() > deadline:
            raise _still_busy(left, timeout_s)
        await asyncio.sleep(_PAUSE_S)


async def _ask_all(services: Mapping[str, str]) -> dict[str, dict[str, int]]:
    left: dict[str, dict[str, int]] = {}
    for name, address in services.items():
        answer = await get_json(address, "/backlog", timeout_s=10.0)
        if answer is None:
            left[name] = {UNREACHABLE: 1}
            continue
        items = {item: int(count) for item, count in answer["items"].items() if int(count)}
        if items:
            left[name] = items
    return left


def _still_busy(left: Mapping[str, Mapping[str, int]], timeout_s: float) -> CommandError:
    counts = {f"{name}.{item}": str(count) for name, items in left.items() for item, count in items.items()}
    words = ", ".join(f"{what} {count}" for what, count in counts.items()) or "nothing in the last round"
    return CommandError(
        ExitCode.TIME_OUT,
        "NOT_SETTLED",
        f"still to do after {timeout_s:g} s: {words}",
        counts,
        {"settled": False, "left": {name: dict(items) for name, items in left.items()}},
    )
