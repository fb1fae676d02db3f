"""Event files: what distinguishes one from another, and what can be wrong with a whole one."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class EventFile(NamedTuple):
    """A file as the bucket lists it.

    Attributes:
        name: key in the bucket.
        etag: what differs once the bytes do, without quotes.
        size_bytes: its size.
        put_at: when it was put.
    """

    name: str
    etag: str
    size_bytes: int
    put_at: datetime


class EventFileFault(Exception):
    """A file cannot be read, or not any further; the text says why. Lasting."""


class EventFileReplaced(Exception):
    """The bucket no longer has these bytes under this name. Lasting."""
