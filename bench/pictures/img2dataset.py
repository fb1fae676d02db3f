"""img2dataset over the same hosts: downloads, hashes, resizes, and stores in the same S3 or in a folder."""

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

from bench.pictures.installation import Installation

_PROCESSES: Final = len(os.sched_getaffinity(0))
_THREADS: Final = 32
_SHARDS: Final = 2 * _PROCESSES
_QUIET: Final = {"NO_ALBUMENTATIONS_UPDATE": "1", "WANDB_MODE": "disabled"}


@dataclass(frozen=True)
class Ran:
    """What a run did.

    Attributes:
        rate: Pictures a second, from the begin of its first part to the end of its last, without its start.
        cpu_us: CPU of a picture, without its start.
    """

    rate: float
    cpu_us: float


class Img2dataset:
    """The program.

    Args:
        environment: where it is installed.
        installation: with the object store.
        folder: for its files.
        side: of the box that pictures are fitted into, in pixels.
    """

    def __init__(self, environment: Path, installation: Installation, folder: Path, side: int) -> None:
        self._program = environment / "bin/img2dataset"
        self._s3 = installation.s3
        self._folder = folder
        self._side = side
        self._start_s: float | None = None

    def run(self, urls: Sequence[str], *, into_s3: bool) -> Ran:
        """Download all of them.

        Raises:
            RuntimeError: it did not get all.
        """
        target = f"{'s3://peer' if into_s3 else self._folder}/pictures"
        if self._start_s is None:
            self._start_s = self._run(urls[:1], target)
        cpu_s = self._run(urls, target) - self._start_s
        where = self._s3.data_dir / "peer" if into_s3 else self._folder
        stats = [json.loads(file.read_text()) for file in (where / "pictures").glob("*_stats.json")]
        stored = sum(int(each["successes"]) for each in stats)
        if stored != len(urls):
            raise RuntimeError(f"{stored} of {len(urls)} pictures; {[each['status_dict'] for each in stats]}")
        seconds = max(each["end_time"] for each in stats) - min(each["start_time"] for each in stats)
        return Ran(len(urls) / seconds, cpu_s / len(urls) * 1e6)

    def _run(self, urls: Sequence[str], target: str) -> float:
        """Return the seconds of CPU that it took."""
        for place in (self._folder, self._s3.data_dir / "peer"):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
        listed = self._folder.with_suffix(".txt")
        listed.write_text("\n".join(urls) + "\n")
        options = {
            "output_folder": target,
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
        environment = {
            **os.environ,
            **_QUIET,
            "AWS_ACCESS_KEY_ID": self._s3.access_key,
            "AWS_SECRET_ACCESS_KEY": self._s3.secret_key,
            "FSSPEC_S3_ENDPOINT_URL": self._s3.endpoint,
        }
        command = [str(self._program), str(listed), *(f"--{name}={value}" for name, value in options.items())]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(f"img2dataset: {ran.stderr[-2000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
