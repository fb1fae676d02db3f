"""Event files: their identity, and faults of a whole file."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class EventFile(NamedTuple):
    """A file as the bucket lists it.

    Attributes:
        name: key in the bucket.
        etag: ETag without quotes; it differs if the bytes do.
        size_bytes: size of the file.
        put_at: time of the upload.
    """

    name: str
    etag: str
    size_bytes: int
    put_at: datetime


class EventFileFault(Exception):
    """A file cannot be read, or only in part; the text tells why. Permanent."""


class EventFileReplaced(Exception):
    """The bucket no longer has these bytes under this name. Permanent."""
