"""Sources: what the steps of a fetch need to know of one."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Source:
    """A source as the job of a fetch finds it; `last_hash` is of the file that etag and last_modified are of."""

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
