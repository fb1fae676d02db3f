"""The data folder of an installation: its paths and their permissions."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from classifeed_cli.exit_codes import unavailable
from classifeed_devkit.embedded.process import explain_os_error

_LEAST_FREE_BYTES = 300 * 1024 * 1024
# The charts use the same name.
CREDENTIAL_KEYS_FILE = "seal.keys"


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths under the data folder. Secrets are only in `keys` (0700, files 0600) and `run` (0700)."""

    root: Path

    @property
    def keys(self) -> Path:
        """Folder of token keys, passwords and tokens."""
        return self.root / "keys"

    @property
    def logs(self) -> Path:
        """Folder of logs, with a file for each process."""
        return self.root / "logs"

    @property
    def run(self) -> Path:
        """Folder with the state of the running processes; it is not needed after they exit."""
        return self.root / "run"

    @property
    def ports(self) -> Path:
        """File with the ports of the last start."""
        return self.root / "ports.json"

    @property
    def supervisor(self) -> Path:
        """File with the state of the running installation, written by the supervisor."""
        return self.run / "supervisor.json"

    @property
    def failure(self) -> Path:
        """File with the error of the last detached start."""
        return self.run / "failure.json"

    @property
    def s3_keys(self) -> Path:
        """File with access key, secret key and bucket of S3."""
        return self.keys / "s3.json"

    @property
    def credential_keys(self) -> Path:
        """File with the keys that encrypt and decrypt credentials of feeds, one per line."""
        return self.keys / CREDENTIAL_KEYS_FILE

    def part(self, name: str) -> Path:
        """Return the data folder of an embedded server."""
        return self.root / name

    def service_data(self, name: str) -> Path:
        """Return the data folder of a service."""
        return self.root / "services" / name

    def log(self, name: str) -> Path:
        """Return the log file of a process."""
        return self.logs / f"{name}.log"

    def token(self, caller: str) -> Path:
        """Return the file with the current bearer token of a caller."""
        return self.keys / f"{caller}.token"

    def prepare(self) -> None:
        """Create the folders.

        Raises:
            CommandError: The disk is full, or the folder cannot be written.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            for folder in (self.keys, self.logs, self.run):
                folder.mkdir(mode=0o700, exist_ok=True)
                folder.chmod(0o700)
            free = shutil.disk_usage(self.root).free
        except OSError as error:
            raise unavailable("DATA_FOLDER_UNUSABLE", explain_os_error(error, self.root)) from error
        if free < _LEAST_FREE_BYTES:
            raise unavailable(
                "DISK_FULL",
                f"the disk that holds {self.root} is full: {free // 2**20} MiB are free, "
                f"{_LEAST_FREE_BYTES // 2**20} are needed: free some space or choose another folder with --data",
            )

    def lock(self) -> IO[str] | None:
        """Lock the folder until the returned file is closed or the process ends; None if another process holds it."""
        file = (self.run / "lock").open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        return file


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Replace a file atomically, with mode 0600: a reader sees the old content or the new one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(content, file, indent=1)
    draft.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the content of a file; None if there is no file."""
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None
    return content
