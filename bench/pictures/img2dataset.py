"""img2dataset with the same hosts: it downloads, hashes, resizes to one size, and writes files into a folder."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROCESSES: Final = len(os.sched_getaffinity(0))
_THREADS: Final = 32
_SHARDS: Final = 2 * _PROCESSES
_QUIET: Final = {"NO_ALBUMENTATIONS_UPDATE": "1", "WANDB_MODE": "disabled"}


@dataclass(frozen=True)
class Ran:
    """Figures of a run.

    Attributes:
        rate: Pictures a second, from the start of the first shard to the end of the last.
        cpu_us: CPU in µs a picture, without the start of the program.
    """

    rate: float
    cpu_us: float


class Img2dataset:
    """The program img2dataset.

    Args:
        environment: the environment that has the program.
        folder: the folder for its files.
        side: the side of the box for resized pictures, in pixels.
    """

    def __init__(self, environment: Path, folder: Path, side: int) -> None:
        self._program = environment / "bin/img2dataset"
        self._folder = folder
        self._side = side
        self._start_s: float | None = None

    def run(self, urls: Sequence[str]) -> Ran:
        """Download all URLs.

        Raises:
            RuntimeError: a download failed.
        """
        if self._start_s is None:
            self._start_s = self._run(urls[:1])
        cpu_s = self._run(urls) - self._start_s
        stats = [json.loads(file.read_text()) for file in self._folder.glob("*_stats.json")]
        stored = sum(int(each["successes"]) for each in stats)
        if stored != len(urls):
            raise RuntimeError(f"{stored} of {len(urls)} pictures; {[each['status_dict'] for each in stats]}")
        seconds = max(each["end_time"] for each in stats) - min(each["start_time"] for each in stats)
        return Ran(len(urls) / seconds, cpu_s / len(urls) * 1e6)

    def _run(self, urls: Sequence[str]) -> float:
        """Return the seconds of CPU of a run."""
        shutil.rmtree(self._folder, ignore_errors=True)
        listed = self._folder.with_suffix(".txt")
        listed.write_text("\n".join(urls) + "\n")
        options = {
            "output_folder": str(self._folder),
            "output_format": "files",
            "processes_count": _PROCESSES,
            "thread_count": _THREADS,
            "number_sample_per_shard": -(-len(urls) // _SHARDS),
            "image_size": self._side,
            "resize_mode": "keep_ratio_largest",
            "resize_only_if_bigger": True,
            "encode_quality": 82,
            "compute_hash": "sha256",
        }
        command = [str(self._program), str(listed), *(f"--{name}={value}" for name, value in options.items())]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = subprocess.run(command, env=os.environ | _QUIET, check=False, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(f"img2dataset: {ran.stderr[-2000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
