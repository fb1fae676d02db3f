"""Which exceptions interrupt work from outside, and are no fault of it."""

from __future__ import annotations

import asyncio
from typing import Final

INTERRUPTIONS: Final = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)
"""What whoever catches `BaseException` raises again. The rest of it, a panic of a Rust library or `SystemExit`, is a
fault of the work like any other."""
