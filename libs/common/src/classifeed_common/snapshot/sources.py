"""Sources of snapshots: a file, or a packaged file; `s3_source` has objects of S3."""

from __future__ import annotations

import asyncio
from importlib.resources import files
from pathlib import Path
from typing import Final, Protocol

from classifeed_common.snapshot.faults import DocumentFault, SourceMissing

MAX_BYTES: Final = 16 << 20


class Source(Protocol):
    """A file that may be replaced."""

    @property
    def name(self) -> str:
        """Name in logs and messages; it ends in `.json` for JSON, any other name is YAML."""

    async def stamp(self) -> str:
        """Return a cheap value that changes with the content.

        Raises:
            SourceMissing: the file does not exist.
            OSError: the file cannot be examined.
            Unavailable: the object store does not respond.
        """

    async def read(self) -> bytes:
        """Return the content.

        Raises:
            DocumentFault: it is larger than 16 MiB.
            SourceMissing: the file does not exist.
            OSError: the file cannot be read.
            Unavailable: the object store does not respond.
        """

    def close(self) -> None:
        """Close connections."""


class FileSource:
    """A local file, such as one of a ConfigMap."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def name(self) -> str:
        """Path of the file."""
        return str(self._path)

    async def stamp(self) -> str:
        """See `Source`."""
        return await asyncio.to_thread(self._stamp)

    async def read(self) -> bytes:
        """See `Source`."""
        return await asyncio.to_thread(self._read)

    def close(self) -> None:
        """See `Source`."""

    def _stamp(self) -> str:
        try:
            status = self._path.stat()
        except FileNotFoundError as error:
            raise SourceMissing(f"there is no file {self._path}") from error
        return f"{status.st_dev}:{status.st_ino}:{status.st_mtime_ns}:{status.st_size}"

    def _read(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                return within_limit(file.read(MAX_BYTES + 1))
        except FileNotFoundError as error:
            raise SourceMissing(f"there is no file {self._path}") from error


class PackagedSource:
    """A file in a Python package, which never changes.

    Args:
        package: name of the package, such as `classifeed_moderation.rules`.
        file: name of the file in it.
    """

    def __init__(self, package: str, file: str) -> None:
        self._package = package
        self._file = file

    @property
    def name(self) -> str:
        """Package and file."""
        return f"{self._package}/{self._file}"

    async def stamp(self) -> str:
        """See `Source`."""
        return "packaged"

    async def read(self) -> bytes:
        """See `Source`."""
        try:
            return within_limit(files(self._package).joinpath(self._file).read_bytes())
        except FileNotFoundError as error:
            raise SourceMissing(f"there is no file {self.name}") from error

    def close(self) -> None:
        """See `Source`."""


def within_limit(content: bytes) -> bytes:
    """Return the content if it is within the limit.

    Raises:
        DocumentFault: it is larger than 16 MiB.
    """
    if len(content) > MAX_BYTES:
        raise DocumentFault(f"is larger than {MAX_BYTES} bytes")
    return content
