"""Sources: the state that the steps of a fetch need."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Source:
    """A source when the job of a fetch runs; `last_hash` belongs to the file with `etag` and `last_modified`."""

    feed_loader_task_id: int
    feed_version: int
    status: int
    url: str
    sealed_credentials: bytes = field(repr=False)
    mode: int
    disposition: int
    format: str
    default_currency: str
    etag: str
    last_modified: str
    last_hash: str
    last_bytes: int
