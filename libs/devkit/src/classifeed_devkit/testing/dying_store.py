"""DyingStore: a store that kills its process just before or after it stores a file."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from classifeed_common.blobs import BlobStore


class DyingStore(BlobStore):
    """Sends SIGKILL to its process just before or after a file is stored.

    Args:
        is_file_there: whether the file is stored before the kill.
        options: options of the store.
    """

    def __init__(self, *, is_file_there: bool, **options: Any) -> None:
        super().__init__(**options)
        self._is_file_there = is_file_there

    async def put_file(self, path: Path, sha256: str) -> None:
        """Store the file or not, and die."""
        if self._is_file_there:
            await super().put_file(path, sha256)
        os.kill(os.getpid(), signal.SIGKILL)

    async def keep(self, sha256: str) -> None:
        """Copy the file or not, and die."""
        if self._is_file_there:
            await super().keep(sha256)
        os.kill(os.getpid(), signal.SIGKILL)


async def run_until_killed(script: str, settings: Mapping[str, Any]) -> None:
    """Run a test's file as a process with a JSON argument, and return once a DyingStore has killed it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, script, json.dumps(settings), stdin=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(120):
            assert await process.wait() == -signal.SIGKILL
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
