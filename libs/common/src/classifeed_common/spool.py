"""Temporary folders of runs: removed with the run, or at the next start if the process was killed."""

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
# A folder without a lock file is being created, or its process died while creating it.
_UNLOCKED_AGE_S: Final = 60.0


@contextmanager
def run_folder(spool_dir: Path) -> Iterator[Path]:
    """Provide a folder that no process sweeps meanwhile, and remove it at the end."""
    spool_dir.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=_PREFIX, dir=spool_dir, ignore_cleanup_errors=True) as name,
        (Path(name) / _LOCK).open("wb") as lock,
    ):
        # The kernel releases the lock however the process ends.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield Path(name)


def sweep_spool(spool_dir: Path) -> int:
    """Remove the folders of dead processes, and return their number. Several processes may sweep at once."""
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
