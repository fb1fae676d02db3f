"""Long-running loops: one body that repeats work and continues after faults, retries of one call, and races."""

from __future__ import annotations

from classifeed_common.loops.loop import Loop, Looping
from classifeed_common.loops.racing import race
from classifeed_common.loops.retrying import retry

__all__ = ["Loop", "Looping", "race", "retry"]
