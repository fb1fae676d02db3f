"""Linger: a pause after a transaction with a high fixed cost, to collect records for the next one."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from classifeed_common.pacing.waiting import wait_for_event

TIMES: Final = 3.0


def pause_after(took_s: float, *, longest_s: float, times: float = TIMES) -> float:
    """Return the linger after a transaction in seconds: `times` times its duration.

    This limits the transactions' share of the time to 1 / (1 + times); a record after a quiet moment does not wait.

    Args:
        took_s: duration of the last transaction, in seconds.
        longest_s: upper bound of the pause, in seconds.
        times: pause as a multiple of the duration; higher if each transaction causes work for others.
    """
    return min(longest_s, times * took_s)


async def gather_records(since_s: float, ends: asyncio.Event, *, longest_s: float, times: float = TIMES) -> None:
    """Pause after a transaction, as long as `pause_after` says.

    Args:
        since_s: start of the transaction, by the monotonic clock.
        ends: event that ends the pause.
        longest_s: upper bound of the pause, in seconds.
        times: pause as a multiple of the transaction's duration.
    """
    await wait_for_event(ends, pause_after(time.monotonic() - since_s, longest_s=longest_s, times=times))
