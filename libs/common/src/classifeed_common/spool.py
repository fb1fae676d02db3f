"""Folders for the files of runs: each goes with its run; what a killed process left goes when the next one starts."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PREFIX: Final = "run-"
_LOCK: Final = "lock"
# A folder without its lock is just being made, or was left in that moment.
_UNLOCKED_AGE_S: Final = 60.0


@contextmanager
def run_folder(spool_dir: Path) -> Iterator[Path]:
    """Give a folder that is removed at the end, and that nobody sweeps meanwhile."""
    spool_dir.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=_PREFIX, dir=spool_dir, ignore_cleanup_errors=True) as name,
        (Path(name) / _LOCK).open("wb") as lock,
    ):
        # The kernel lets go of it when the process dies, however it dies.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield Path(name)


def sweep_spool(spool_dir: Path) -> int:
    """Remove the folders of processes that are gone, and return how many. Several processes may sweep at once."""
    removed = 0
    for folder in spool_dir.glob(f"{_PREFIX}*"):
        if _is_left(folder):
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed


def _is_left(folder: Path) -> bool:
    try:
        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except FileNotFoundError:
        return folder.is_dir() and time.time() - folder.stat().st_mtime > _UNLOCKED_AGE_S
    return True
