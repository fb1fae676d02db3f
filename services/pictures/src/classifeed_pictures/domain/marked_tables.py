"""The tables whose rows have marks (ADR 0101)."""

from __future__ import annotations

from typing import Final, NamedTuple

STATES: Final = "pictures"
REQUESTS: Final = ("requests_in_flight", "settled_requests")
STORED: Final = "stored_pictures"
EVENT_FILES: Final = "event_files"
JOBS: Final = "dl_jobs"
"""It has no marks: the ids of its jobs contain the time of their creation."""


class MarkedTable(NamedTuple):
    """A table with marks.

    Attributes:
        name: name of the table.
        key: primary key.
        is_never_empty: whether a table that has had rows is empty only after a fault.
    """

    name: str
    key: tuple[str, ...]
    is_never_empty: bool


TABLES: Final = (
    MarkedTable(STATES, ("url_hash",), is_never_empty=True),
    MarkedTable(REQUESTS[0], ("url_hash", "namespace", "recipient", "reference"), is_never_empty=False),
    MarkedTable(REQUESTS[1], ("url_hash", "request_hash"), is_never_empty=True),
    MarkedTable(STORED, ("namespace", "group_id", "name"), is_never_empty=True),
    MarkedTable("blobs", ("sha256",), is_never_empty=False),
    MarkedTable("blob_refs", ("ref", "sha256"), is_never_empty=False),
    MarkedTable("namespace_usage", ("namespace", "slot"), is_never_empty=False),
    MarkedTable(EVENT_FILES, ("name", "etag"), is_never_empty=False),
)
