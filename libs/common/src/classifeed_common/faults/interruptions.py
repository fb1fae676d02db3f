"""Exceptions that interrupt work from outside and are no fault of it."""

from __future__ import annotations

import asyncio
from typing import Final

INTERRUPTIONS: Final = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit)
"""Exceptions that code must raise again after it has caught `BaseException`. All others, such as a panic of a Rust
library or `SystemExit`, are faults of the work."""
