"""Gathering: a pause after a transaction that is dear by itself, in which records of the next one come together."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from classifeed_common.pacing.waiting import wait_for_event

TIMES: Final = 3.0


def pause_after(took_s: float, *, longest_s: float, times: float = TIMES) -> float:
    """Return how long to let records gather, in seconds: `times` times what the last ones took.

    So this work gets a share of 1 / (1 + times) of the time at most, and what comes after a quiet moment does not wait.

    Args:
        took_s: how long the last transaction took.
        longest_s: the longest pause, whatever it took.
        times: the pause in durations of the transaction; more where each one makes work for others.
    """
    return min(longest_s, times * took_s)


async def gather_records(since_s: float, ends: asyncio.Event, *, longest_s: float, times: float = TIMES) -> None:
    """Pause after a transaction, as long as `pause_after` says.

    Args:
        since_s: when the transaction began, by the monotonic clock.
        ends: ends the pause.
        longest_s: the longest pause.
        times: the pause in durations of the transaction.
    """
    await wait_for_event(ends, pause_after(time.monotonic() - since_s, longest_s=longest_s, times=times))
