"""Backlog: counts the work that waits for the roles of a service, on request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import structlog

from classifeed_common.errors import Unavailable, name_fault
from classifeed_common.pacing.waiting import gather_within
from classifeed_common.telemetry.fault_log import log_fault
from classifeed_common.telemetry.metrics import BACKLOG

BACKLOG_TIMEOUT_S = 5.0
# Counting takes at most a hundredth of the time, within the limit for cached counts.
_KEPT_TIMES: Final = 100.0
_KEPT_S: Final = 5.0
_QUICK_S: Final = 0.01
_MANY: Final = 1_000
_log = structlog.get_logger("http")

BacklogSource = Callable[[], Awaitable[Mapping[str, int]]]


class Backlog:
    """Counts the work that waits for the roles of a service.

    A count reads as many rows as wait. A count that found thousands and was slow is cached, for up to five seconds. A
    small count is never cached: it could delay a caller that waits for the end of the work, or hide work that came
    since.

    Args:
        sources: functions that count waiting work, by role.
    """

    def __init__(self, sources: Mapping[str, BacklogSource]) -> None:
        self._sources = sources
        self._kept: dict[str, tuple[float, Mapping[str, int]]] = {}

    async def count(self) -> dict[str, int]:
        """Return the waiting work by `<role>.<item>`, and update the gauge.

        If one source fails, the whole count fails: an unknown backlog must never look like an empty one.

        Raises:
            Unavailable: BACKLOG_UNKNOWN, with the failed roles and the reasons, also in the metadata.
        """
        faults: dict[str, str] = {}
        counted = await asyncio.gather(*(self._count(*each, faults) for each in self._sources.items()))
        if faults:
            words = "; ".join(f"{role}: {fault}" for role, fault in faults.items())
            raise Unavailable(
                "BACKLOG_UNKNOWN",
                f"The backlog cannot be counted ({words}). Try again; /health/ready names what is missing.",
                metadata=faults,
                retry_after_s=1,
            )
        items = {
            f"{role}.{item}": number
            for role, found in zip(self._sources, counted, strict=True)
            for item, number in found.items()
        }
        BACKLOG.clear()
        for item, number in items.items():
            BACKLOG.labels(item).set(number)
        return items

    async def _count(self, role: str, source: BacklogSource, faults: dict[str, str]) -> Mapping[str, int]:
        """Return the count of one source, cached or new; after a fault, record it and return an empty one."""
        began_s = time.monotonic()
        until_s, kept = self._kept.get(role, (0.0, {}))
        if began_s < until_s:
            return kept
        try:
            [found] = await gather_within(BACKLOG_TIMEOUT_S, source())
        except TimeoutError:
            faults[role] = f"no response within {BACKLOG_TIMEOUT_S:g} s"
        except Exception as error:  # noqa: BLE001 - after any error the count is unknown
            faults[role] = name_fault(error)
            log_fault(_log, "http.backlog.uncounted", error, role=role)
        else:
            ended_s = time.monotonic()
            if ended_s - began_s > _QUICK_S and max(found.values(), default=0) >= _MANY:
                self._kept[role] = (ended_s + min(_KEPT_TIMES * (ended_s - began_s), _KEPT_S), found)
            return found
        return {}
