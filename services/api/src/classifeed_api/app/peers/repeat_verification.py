"""Repeat the comparison of what was sent to another service with what it has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.waiting import wait_for_event

log = structlog.get_logger(__name__)


async def repeat_verification(
    stop: asyncio.Event, verify: Callable[[], Awaitable[object]], *, what: str, interval_s: float
) -> None:
    """Verify until `stop`, with `interval_s` seconds between two comparisons; faults pass and are logged."""
    while not stop.is_set():
        try:
            await verify()
        except Exception as error:  # noqa: BLE001 - the next comparison finds what this one did not
            log_fault(log, "api.not_verified", error, retry_in_s=interval_s, what=what)
        await wait_for_event(stop, interval_s)
